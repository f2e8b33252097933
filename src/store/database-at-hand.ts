/**
 * The database of an operator's command, with or without a service on it: one that is named, or else the embedded one of a data folder,
 * which is started where nobody runs it. What is done there is not its affair.
 */
import type { Logger } from 'pino'
import { holdDataFolder } from './data-folder.ts'
import { runningEmbeddedUrl, startEmbeddedPostgres } from './embedded-postgres.ts'

/** Where it is. */
export interface DatabaseAtHand {
  /** null for the embedded one */
  readonly databaseUrl: string | null
  readonly dataDir: string
  readonly log: Logger
  /** whether an embedded one may be made, in a folder that nobody holds; else it must be there */
  readonly mayMake: boolean
}

/** Gives work its address, and stops at the end what was started for it. Fails where there is none, or the folder is held. */
export async function onDatabaseAtHand<T>(
  { databaseUrl, dataDir, log, mayMake }: DatabaseAtHand,
  work: (url: string) => Promise<T>,
): Promise<T> {
  if (databaseUrl !== null) return await work(databaseUrl)
  if (!mayMake) {
    const running = await runningEmbeddedUrl(dataDir, log)
    if (running !== null) return await work(running)
  }
  const folder = await holdDataFolder(dataDir)
  try {
    const embedded = await startEmbeddedPostgres({ dataDir: folder.path, log })
    try {
      return await work(embedded.url)
    } finally {
      await embedded.stop()
    }
  } finally {
    folder.release()
  }
}
