/**
 * A systemd of its own to start units under, in namespaces beside everything else on this machine: as on a server, with its restrictions
 * in force, and without a trace behind it. It takes Linux, root, and a systemd that is installed but need not run.
 */
import { type SpawnSyncReturns, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { mkdir, mkdtemp, readdir, readFile, rm, rmdir } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { vi } from 'vitest'

export interface Machine {
  /** Runs a line of shell in it, as root. */
  run(line: string): SpawnSyncReturns<string>
  /** Ends all that runs in it. */
  end(): Promise<void>
}

const WAKE_MS = 60_000
const SCRIPT = path.join(import.meta.dirname, 'systemd-machine.sh')

/** Why there can be no such machine here; null where there can. */
export function withoutMachine(): string | null {
  if (process.getuid?.() !== 0) return 'this is not root'
  if (!existsSync('/usr/lib/systemd/systemd')) return 'systemd is not installed'
  if (spawnSync('sh', ['-c', 'PATH=/usr/local/bin:/usr/bin:/bin command -v node']).status !== 0)
    return 'node is not on the path of the system'
  const tried = spawnSync('unshare', [
    ...NAMESPACES,
    'sh',
    '-c',
    'mount -t tmpfs tmpfs /run && mount -t proc proc /proc',
  ])
  return tried.status === 0 ? null : 'no namespaces can be made'
}

const NAMESPACES = ['--pid', '--fork', '--kill-child', '--mount', '--uts', '--ipc', '--net', '--cgroup']

/** Wakes systemd up, with a folder seen as `/opt/drover`. */
export async function startMachine(prefix: string): Promise<Machine> {
  const above = await ownGroup()
  const work = await mkdtemp(path.join(tmpdir(), 'drover-machine-'))
  const group = path.join(above, path.basename(work))
  await mkdir(group)
  const entering = `echo $$ > '${group}/cgroup.procs' && exec unshare "$@"`
  const unshare = spawn('sh', ['-c', entering, 'sh', ...NAMESPACES, SCRIPT, work, prefix], {
    stdio: ['ignore', 'inherit', 'inherit'],
  })
  const ended = once(unshare, 'exit')
  const end = async () => {
    // With it goes the first process of the machine, and with that all others.
    unshare.kill('SIGKILL')
    await ended
    await vi.waitUntil(() => removed(group), { timeout: WAKE_MS, interval: 200 })
    await rm(work, { recursive: true })
  }
  const first = path.join(group, 'init.scope', 'cgroup.procs')
  const run = (line: string) => {
    const [systemd = ''] = readFileSync(first, 'utf8').split('\n')
    return spawnSync('nsenter', ['--target', systemd, '--all', 'sh', '-c', line], { encoding: 'utf8' })
  }
  try {
    await vi.waitUntil(() => existsSync(first) && run('systemctl is-active multi-user.target').status === 0, {
      timeout: WAKE_MS,
      interval: 200,
    })
  } catch (error) {
    await end()
    throw error
  }
  return { run, end }
}

/** The control group of this process in the hierarchy that systemd keeps its own in. */
async function ownGroup(): Promise<string> {
  const mounts = await readFile('/proc/self/mountinfo', 'utf8')
  const [, mounted] = /^(?:\S+ ){4}(\S+) .* - cgroup2 /m.exec(mounts) ?? []
  const [, own] = /^0::(.*)$/m.exec(await readFile('/proc/self/cgroup', 'utf8')) ?? []
  if (!mounted || !own) throw new Error('there is no hierarchy of control groups of version 2')
  return path.join(mounted, own)
}

/** Whether a control group and those within it could be removed, which takes that nobody runs in them. */
async function removed(group: string): Promise<boolean> {
  const within = await readdir(group, { recursive: true, withFileTypes: true })
  const folders = within.filter(each => each.isDirectory()).map(each => path.join(each.parentPath, each.name))
  try {
    for (const each of [...folders.toSorted((a, b) => b.length - a.length), group]) await rmdir(each)
    return true
  } catch {
    return false
  }
}
