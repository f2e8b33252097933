/**
 * The files of the embedded database: where they lie, who owns them, the password of its superuser, and their making by initdb. It
 * starts no server.
 */
import { randomBytes, randomUUID } from 'node:crypto'
import {
  chmod,
  chown,
  lstat,
  mkdir,
  readdir,
  readFile,
  readlink,
  realpath,
  rename,
  rm,
  symlink,
  writeFile,
} from 'node:fs/promises'
import path from 'node:path'
import type { Logger } from 'pino'
import {
  type Account,
  accountToRunAs,
  asAccount,
  type Binaries,
  canEnter,
  findBinaries,
  runToEnd,
} from './postgres-binaries.ts'

/** The superuser, and the database made for the service. */
export const databaseName = 'drover'

export interface Cluster {
  /** PostgreSQL's own data folder. */
  folder: string
  /** What the server says; it is rotated at each start. */
  logFile: string
  password: string
  account: Account | null
  binaries: Binaries
}

/** Where the database lies when root's data folder is behind a door that PostgreSQL's account cannot pass. */
const elsewhere = '/var/lib/drover'

async function exists(file: string): Promise<boolean> {
  return lstat(file).then(
    () => true,
    () => false,
  )
}

/**
 * The folder for the database's files: `postgres` in the data folder. A data folder of root may lie where the account cannot go
 * (`/root/drover/data`); then `postgres` is a link to a folder outside.
 */
async function homeOf(dataDir: string, account: Account | null, log: Logger): Promise<string> {
  const home = path.join(dataDir, 'postgres')
  const linked = await readlink(home).catch(() => null)
  if (linked && !(await exists(linked))) {
    throw new Error(
      `The database of ${dataDir} lay in ${linked}, which is gone: restore it, or remove ${home} to begin anew`,
    )
  }
  if (linked) return linked
  if (account && !(await canEnter(account, dataDir))) {
    // Passing through is enough; the listing stays root's.
    await chmod(dataDir, 0o711)
  }
  const reachable = await canEnter(account, dataDir)
  if (!reachable && (await exists(home))) {
    throw new Error(
      `PostgreSQL runs as "${account?.name}", who cannot enter ${dataDir}: move the data folder, or open the way to it`,
    )
  }
  if (reachable) {
    await mkdir(home, { recursive: true, mode: 0o711 })
    return home
  }
  const outside = path.join(elsewhere, randomUUID())
  await mkdir(outside, { recursive: true, mode: 0o711 })
  await symlink(outside, home)
  log.warn(`PostgreSQL runs as "${account?.name}", who cannot enter ${dataDir}: the database lies in ${outside}`)
  return outside
}

async function passwordOf(dataDir: string, made: boolean): Promise<string> {
  const file = path.join(dataDir, 'postgres-password')
  const kept = await readFile(file, 'utf8').catch(() => null)
  if (kept) return kept.trim()
  if (made) throw new Error(`${file} is missing: without the password the database in ${dataDir} cannot be opened`)
  const password = randomBytes(24).toString('base64url')
  await writeFile(`${file}.new`, `${password}\n`, { mode: 0o600 })
  await rename(`${file}.new`, file)
  return password
}

/** Makes the database beside its place and moves it there whole, so that a kill in between leaves nothing half made. */
async function initialise(cluster: Cluster, home: string): Promise<void> {
  for (const name of await readdir(home)) {
    if (name.startsWith('new-')) await rm(path.join(home, name), { recursive: true, force: true })
  }
  const unfinished = path.join(home, `new-${randomUUID()}`)
  const passwordFile = path.join(home, `new-${randomUUID()}`)
  await mkdir(unfinished, { mode: 0o700 })
  await writeFile(passwordFile, cluster.password, { mode: 0o600 })
  const { account } = cluster
  if (account) for (const file of [unfinished, passwordFile]) await chown(file, account.uid, account.gid)
  const args = [
    ...['-D', unfinished, '-U', databaseName, `--pwfile=${passwordFile}`, '--auth=scram-sha-256'],
    ...['--encoding=UTF8', '--locale=C', '--locale-provider=builtin', '--builtin-locale=C.UTF-8'],
  ]
  const { code, output } = await runToEnd(path.join(cluster.binaries.folder, 'bin', 'initdb'), args, asAccount(account))
  await rm(passwordFile)
  if (code !== 0) throw new Error(`The embedded database cannot be made (initdb ended with ${code}):\n${output}`)
  await rename(unfinished, cluster.folder)
}

/** Whether a data folder has a database already. */
export function hasCluster(dataDir: string): Promise<boolean> {
  return exists(path.join(dataDir, 'postgres', 'data'))
}

/**
 * Opens the database files of a data folder, making them the first time. Fails with a clear word when they cannot be reached or
 * were written by another major version.
 */
export async function openCluster(dataDir: string, log: Logger): Promise<Cluster> {
  await mkdir(dataDir, { recursive: true, mode: 0o711 })
  const account = await accountToRunAs()
  // A running server is known by this path again, however the data folder was named.
  const home = await homeOf(await realpath(dataDir), account, log)
  const folder = path.join(home, 'data')
  const made = await exists(folder)
  const cluster: Cluster = {
    folder,
    logFile: path.join(home, 'postgres.log'),
    password: await passwordOf(dataDir, made),
    account,
    binaries: await findBinaries(account, home),
  }
  if (!made) await initialise(cluster, home)
  const written = await readFile(path.join(folder, 'PG_VERSION'), 'utf8').then(text => text.trim())
  const [major] = cluster.binaries.version.split('.')
  if (written === major) return cluster
  throw new Error(
    `The database in ${folder} was written by PostgreSQL ${written}, this build brings ${cluster.binaries.version}: ` +
      'take a backup with the build that wrote it and restore it into an empty data folder',
  )
}
