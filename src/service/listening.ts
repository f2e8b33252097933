/** Why nobody can listen where the operator wants it, with the variable that says where. Decides nothing. */

/** Why nobody can listen at an address, by the code of the system. */
const OBSTACLES: Readonly<Record<string, string>> = {
  EADDRINUSE: 'is taken by somebody else',
  EADDRNOTAVAIL: 'is no address of this machine',
  EACCES: 'may not be listened at by this user',
}

/** Nobody can listen there; its words name the address, the reason and what chooses another. */
export class CannotListen extends Error {}

/** Waits until somebody listens. Fails with `CannotListen` where that cannot be; `variable` is the one that chose the port. */
export async function listening<T>(variable: string, opening: Promise<T>): Promise<T> {
  try {
    return await opening
  } catch (error) {
    if (!(error instanceof Error) || !('syscall' in error) || error.syscall !== 'listen') throw error
    const { code = '', address, port } = error as NodeJS.ErrnoException & { address?: string; port?: number }
    if (OBSTACLES[code] === undefined) throw error
    const chosenBy = code === 'EADDRNOTAVAIL' ? 'DROVER_HOST' : variable
    const words = `${address}:${port} ${OBSTACLES[code]}: free it, or choose another by ${chosenBy}`
    throw new CannotListen(words, { cause: error })
  }
}
