/** A Mosquitto of Debian's package, where there is one: the broker that most fleets run. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const CANDIDATES = [process.env.DROVER_TEST_MOSQUITTO ?? '', 'mosquitto', '/usr/sbin/mosquitto']

/** The program, or undefined where it is not installed; then a word is printed. */
export const mosquittoProgram = CANDIDATES.find(
  program => program !== '' && spawnSync(program, ['-h']).error === undefined,
)
if (mosquittoProgram === undefined) {
  console.warn(
    'Mosquitto is not installed (apt-get install mosquitto): the tests with an external broker are left out.',
  )
}

export interface Mosquitto {
  readonly url: string
  start(): Promise<void>
  /** `SIGKILL` leaves it no time to write anything. Answers whether it ran. */
  kill(signal: 'SIGTERM' | 'SIGKILL'): Promise<boolean>
  /** stops it and removes its files */
  remove(): Promise<void>
}

/** Lets everyone in and do everything. */
const openToAll = async (_folder: string): Promise<string[]> => [
  'allow_anonymous true',
  'max_queued_messages 0',
  'max_inflight_messages 100',
]

/** Makes a broker on a free port, not yet started, that keeps its sessions on disk; `rules` are lines of its configuration. */
export async function createMosquitto(program: string, rules = openToAll): Promise<Mosquitto> {
  const folder = await mkdtemp(join(tmpdir(), 'drover-mosquitto-'))
  const port = await freePort()
  const configuration = join(folder, 'mosquitto.conf')
  await writeFile(
    configuration,
    [
      `listener ${port} 127.0.0.1`,
      'persistence true',
      `persistence_location ${folder}/`,
      'autosave_interval 1',
      'user root',
      ...(await rules(folder)),
    ].join('\n'),
  )
  let running: ChildProcess | undefined

  async function kill(signal: 'SIGTERM' | 'SIGKILL'): Promise<boolean> {
    if (running === undefined) return false
    const ended = once(running, 'exit')
    running.kill(signal)
    await ended
    return true
  }

  return {
    url: `mqtt://127.0.0.1:${port}`,
    async start() {
      const started = spawn(program, ['-c', configuration, '-v'], { stdio: ['ignore', 'ignore', 'pipe'] })
      running = started
      const { promise, resolve, reject } = Promise.withResolvers<void>()
      let told = ''
      const listen = (chunk: Buffer) => {
        told += chunk
        if (told.includes(' running')) resolve()
      }
      started.stderr.on('data', listen)
      started.once('error', reject)
      started.once('exit', () => {
        if (running === started) running = undefined
        reject(new Error(`Mosquitto did not start: ${told}`))
      })
      await promise
      // It goes on telling of every message: that is read away, and not kept.
      started.stderr.off('data', listen).resume()
    },
    kill,
    async remove() {
      await kill('SIGKILL')
      await rm(folder, { recursive: true, force: true })
    },
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  await new Promise(resolve => server.close(resolve))
  return port
}
