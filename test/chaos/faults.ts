/** How each fault is done to a world, and undone. It chooses nothing: the schedule does. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { FaultName, PlannedFault } from './schedule.ts'
import type { World } from './world.ts'

type Inflict = (world: World, fault: PlannedFault) => Promise<unknown>

const nodeOf = (world: World, { node }: PlannedFault) => world.nodes[node]!
const STOP_GRACE_MS = 30_000
/** A fault that needs the database tries so long where another fault has it stopped. */
const DATABASE_WITHIN_MS = 10_000

/** Asks the database once it can be asked. */
async function onDatabase<T>(world: World, work: Parameters<World['database']['on']>[0]): Promise<T> {
  for (const until = Date.now() + DATABASE_WITHIN_MS; ; await sleep(100)) {
    try {
      return (await world.database.on(work)) as T
    } catch (error) {
      if (Date.now() > until) throw error
    }
  }
}

async function sessionOf(world: World): Promise<number | undefined> {
  const { rows } = await onDatabase<{ rows: { pid: number }[] }>(world, client =>
    client.query(
      `select pid from pg_stat_activity where application_name = 'drover' order by query_start desc limit 1`,
    ),
  )
  return rows[0]?.pid
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name)
  } catch {
    // It has ended meanwhile.
  }
}

const INFLICT: Readonly<Record<FaultName, Inflict>> = {
  async 'kill a node'(world, fault) {
    const node = nodeOf(world, fault)
    await node.kill()
    await sleep(fault.forMs)
    node.start()
  },
  async 'stop a node in order'(world, fault) {
    const node = nodeOf(world, fault)
    await node.stop(STOP_GRACE_MS)
    await sleep(fault.forMs)
    node.start()
  },
  async 'freeze a node'(world, fault) {
    const node = nodeOf(world, fault)
    node.signal('SIGSTOP')
    await sleep(fault.forMs)
    node.signal('SIGCONT')
  },
  async 'freeze the fleet'(world, { forMs }) {
    world.fleetSignal('SIGSTOP')
    await sleep(forMs)
    world.fleetSignal('SIGCONT')
  },
  async 'freeze a database session'(world, { forMs }) {
    const pid = await sessionOf(world)
    if (pid === undefined) return
    signal(pid, 'SIGSTOP')
    await sleep(forMs)
    signal(pid, 'SIGCONT')
  },
  async 'stop the database'({ database }, { forMs }) {
    await database.stop()
    await sleep(forMs)
    await database.start()
  },
  async 'kill the database'({ database }, { forMs }) {
    database.kill()
    await sleep(forMs)
  },
  async 'terminate every database session'(world) {
    await onDatabase(world, client =>
      client.query(`select pg_terminate_backend(pid) from pg_stat_activity where application_name like 'drover%'`),
    )
  },
  'take every database connection': ({ database }, { forMs }) => database.crowd(forMs),
  async 'lock the operations so that pools run dry'(world, { forMs }) {
    await onDatabase(world, async client => {
      await client.query('begin')
      await client.query('lock table operation in access exclusive mode')
      await sleep(forMs)
      await client.query('rollback')
    })
  },
  async 'cut the connections of devices'({ relays }) {
    relays.mqtt.cut()
    relays.http.cut()
    relays.devices.cut()
  },
  async 'cut the connections of the broker'({ relays }) {
    relays.link?.cut()
  },
  async 'restart the broker'({ broker }, { forMs }) {
    await broker?.kill('SIGTERM')
    await sleep(forMs)
    await broker?.start()
  },
  async 'kill the broker'({ broker }, { forMs }) {
    await broker?.kill('SIGKILL')
    await sleep(forMs)
    await broker?.start()
  },
}

/** A fault as it was done. */
export interface DoneFault extends PlannedFault {
  readonly fromMs: number
  readonly toMs: number
  /** why it could not be done, where it could not */
  readonly failure?: string
}

/** Does one fault and waits until it is undone. Never fails. */
export async function inflict(world: World, fault: PlannedFault): Promise<DoneFault> {
  const fromMs = Date.now()
  try {
    await INFLICT[fault.fault](world, fault)
    return { ...fault, fromMs, toMs: Date.now() }
  } catch (error) {
    return { ...fault, fromMs, toMs: Date.now(), failure: String(error) }
  }
}
