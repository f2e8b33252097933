/** How each fault is done to a world, and undone. It chooses nothing: the schedule does. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { ServiceNode } from './nodes.ts'
import type { FaultName, PlannedFault } from './schedule.ts'
import type { World } from './world.ts'

type Inflict = (world: World, fault: PlannedFault) => Promise<unknown>

const nodeOf = (world: World, { node }: PlannedFault) => world.nodes[node]!
const STOP_GRACE_MS = 30_000
/** A fault tries so long to find what it befalls, where another fault has that stopped. */
const FOUND_WITHIN_MS = 20_000

/** Tries until it has befallen something. Fails with what it last failed with, or because there never was anything. */
async function befall(what: string, tried: () => Promise<boolean> | boolean): Promise<void> {
  for (const until = Date.now() + FOUND_WITHIN_MS; ; await sleep(100)) {
    try {
      if (await tried()) return
      if (Date.now() > until) throw new Error(`there is no ${what}`)
    } catch (error) {
      if (Date.now() > until) throw error
    }
  }
}

async function sessionOf({ database }: World): Promise<number | undefined> {
  const { rows } = await database.on(client =>
    client.query<{ pid: number }>(
      `select pid from pg_stat_activity where application_name = 'drover' order by query_start desc limit 1`,
    ),
  )
  return rows[0]?.pid
}

function signal(pid: number, name: NodeJS.Signals): boolean {
  try {
    return process.kill(pid, name)
  } catch {
    // It has ended meanwhile.
    return false
  }
}

/** Waits until a node has a process: one that cannot start while its database is away is started again and again. */
const running = (node: ServiceNode) => befall(`process of ${node.name}`, () => node.pid() !== undefined)

async function endBroker({ broker }: World, name: 'SIGTERM' | 'SIGKILL', forMs: number): Promise<void> {
  if (broker === null) throw new Error('there is no broker')
  if (!(await broker.kill(name))) throw new Error('the broker had ended before')
  await sleep(forMs)
  await broker.start()
}

const INFLICT: Readonly<Record<FaultName, Inflict>> = {
  async 'kill a node'(world, fault) {
    const node = nodeOf(world, fault)
    await running(node)
    await node.kill()
    await sleep(fault.forMs)
    node.start()
  },
  async 'stop a node in order'(world, fault) {
    const node = nodeOf(world, fault)
    await running(node)
    await node.stop(STOP_GRACE_MS)
    await sleep(fault.forMs)
    node.start()
  },
  async 'freeze a node'(world, fault) {
    const node = nodeOf(world, fault)
    await befall(`process of ${node.name}`, () => node.signal('SIGSTOP'))
    await sleep(fault.forMs)
    node.signal('SIGCONT')
  },
  async 'freeze the fleet'(world, { forMs }) {
    if (!world.fleetSignal('SIGSTOP')) throw new Error('the fleet has ended')
    await sleep(forMs)
    world.fleetSignal('SIGCONT')
  },
  async 'freeze a database session'(world, { forMs }) {
    let pid: number | undefined
    await befall('session of a node', async () => {
      pid = await sessionOf(world)
      return pid !== undefined && signal(pid, 'SIGSTOP')
    })
    await sleep(forMs)
    if (pid !== undefined) signal(pid, 'SIGCONT')
  },
  async 'stop the database'({ database }, { forMs }) {
    await database.stop()
    await sleep(forMs)
    await database.start()
  },
  async 'kill the database'({ database }, { forMs }) {
    await befall('database', () => database.kill())
    await sleep(forMs)
  },
  async 'terminate every database session'(world) {
    await befall('session of a node', async () => {
      const { rows } = await world.database.on(client =>
        client.query<{ ended: boolean }>(
          `select pg_terminate_backend(pid) as ended from pg_stat_activity where application_name like 'drover%'`,
        ),
      )
      return rows.some(({ ended }) => ended)
    })
  },
  'take every database connection': ({ database }, { forMs }) => database.crowd(forMs, FOUND_WITHIN_MS),
  async 'lock the operations so that pools run dry'(world, { forMs }) {
    await befall('table to lock', () =>
      world.database.on(async client => {
        await client.query('begin')
        await client.query('lock table operation in access exclusive mode')
        await sleep(forMs)
        // Another fault may have ended it before.
        await client.query('rollback').catch(() => {})
        return true
      }),
    )
  },
  async 'cut the connections of devices'({ relays }) {
    await befall('device that is connected', () => relays.mqtt.cut() > 0)
    relays.http.cut()
    for (const relay of relays.devices) relay.cut()
  },
  async 'cut the connections of the broker'({ relays: { link } }) {
    if (link === null) throw new Error('there is no broker')
    await befall('node that is connected to the broker', () => link.cut() > 0)
  },
  'restart the broker': (world, { forMs }) => endBroker(world, 'SIGTERM', forMs),
  'kill the broker': (world, { forMs }) => endBroker(world, 'SIGKILL', forMs),
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
