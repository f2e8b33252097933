/**
 * What an operator asks of a file or a database, and cannot have as things stand: another name, another place or another build does it.
 * It is no fault of the machine, which fails in its own words.
 */

/** What is in the way: the file that was named, the database and what is in it, or that there is no database. */
export type Obstacle = 'file' | 'database' | 'noDatabase'

/** Says in plain words what is in the way. */
export class Unfit extends Error {
  readonly obstacle: Obstacle

  constructor(obstacle: Obstacle, message: string) {
    super(message)
    this.obstacle = obstacle
  }
}
