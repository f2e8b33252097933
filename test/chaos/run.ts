/**
 * One run: a world, clients who make jobs until enough operations are asked for, a schedule of faults meanwhile, and the judgement when
 * everything has come to its end.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { VerifyView } from '../../src/contract/verify.ts'
import { comesToRest, stopNodes } from './ending.ts'
import { type DoneFault, inflict } from './faults.ts'
import { judge } from './judge.ts'
import { judgeRowsAtTheEnd } from './rows.ts'
import { drawSchedule, FAULTS, type PlannedFault } from './schedule.ts'
import { createSnapshots, type Snapshots } from './snapshots.ts'
import { planStory, playStory, type Story } from './stories.ts'
import { judgeAmounts, type RunEnd } from './verdict.ts'
import { mosquittoProgram, openWorld, type World, type WorldOptions } from './world.ts'

export interface ChaosOptions {
  readonly seed: number
  readonly faults: number
  readonly operations: number
  readonly devices: number
  readonly nodes?: number
  /** the share of the usual pauses between faults that is kept; all of them unless told */
  readonly pace?: number
  /** Mosquitto where it is installed, unless told */
  readonly broker?: WorldOptions['broker']
  /** told of what happens, a line each */
  readonly tell?: (line: string) => void
}

export interface ChaosResult extends RunEnd {
  readonly faults: readonly DoneFault[]
}

/** How often the rows, and the service's own recount of them, were looked at. */
interface Looks {
  readonly snapshots: number
  readonly verified: number
}

/** Jobs that run at the same time. */
const AT_ONCE = 4
const SAMPLE_EVERY_MS = 1_000
/** The service's own recount is asked for at each so many-th look. */
const VERIFY_EVERY = 3
const LATEST_ANSWER_MS = 20_000
const UNCLEAR_TOLD = 5

export async function runChaos(options: ChaosOptions): Promise<ChaosResult> {
  const { seed, devices, nodes = 3, tell = () => {} } = options
  const broker = options.broker ?? (mosquittoProgram === undefined ? 'embedded' : 'mosquitto')
  const leftOut = broker === 'mosquitto' ? [] : [`faults of the broker, since ${withoutBroker(options)}`]
  const startedAt = Date.now()
  const world = await openWorld({ seed, devices, nodes, broker })
  try {
    tell(
      `seed ${seed}: ${nodes} nodes, ${devices} devices and a tenth of it elsewhere, ${broker} broker, logs in ${world.folder}`,
    )
    const wrong: string[] = []
    const over = new AbortController()
    const snapshots = createSnapshots()
    const sampling = sample(world, snapshots, wrong, over.signal)
    const schedule = drawSchedule({
      seed,
      count: options.faults,
      nodes,
      ...(options.pace !== undefined && { pace: options.pace }),
      without: broker === 'embedded' ? brokerFaults : [],
    })
    const inflicting = inflictAll(world, schedule, tell)
    const stories = await playStories(world, options, inflicting, tell)
    const faults = await inflicting
    await comesToRest(world, stories, LATEST_ANSWER_MS)
    over.abort()
    const looks = await sampling
    await world.database.on(snapshots.lookAtAllEnds)
    if (looks.snapshots === 0) wrong.push('the run: its rows were never looked at while it ran')
    wrong.push(...snapshots.wrong)
    const judged = await judge(world, stories, faults)
    wrong.push(...judged.wrong, ...(await world.database.on(client => judgeRowsAtTheEnd(client, stories))))
    const counters = await world.endFleet()
    const stops = await stopNodes(world)
    wrong.push(...stops)
    wrong.push(
      ...judgeAmounts({
        asked: options,
        faults,
        operations: judged.figures.operations ?? 0,
        unclear: world.parties.flatMap(({ client }) => client.faults.slice(0, UNCLEAR_TOLD)),
      }),
    )
    const figures = {
      seed,
      broker,
      nodes,
      faults: `${faults.filter(({ failure }) => failure === undefined).length} of ${schedule.length}`,
      seconds: Math.round((Date.now() - startedAt) / 1_000),
      jobs: stories.length,
      ...judged.figures,
      ...looks,
      endsMoved: snapshots.lateEnds(),
      statuses: countStatuses(world),
      devices: counters[0],
    }
    return { wrong, leftOut, figures, faults }
  } finally {
    await world.close()
  }
}

function withoutBroker(options: ChaosOptions): string {
  return options.broker === 'embedded' ? 'nodes bring their own' : 'Mosquitto is not installed'
}

function countStatuses({ parties }: World): Record<number, number> {
  const sums: Record<number, number> = {}
  for (const { client } of parties) {
    for (const [status, count] of client.statuses) sums[status] = (sums[status] ?? 0) + count
  }
  return sums
}

const brokerFaults = (['restart the broker', 'kill the broker', 'cut the connections of the broker'] as const).slice()

async function inflictAll(
  world: World,
  schedule: readonly PlannedFault[],
  tell: (line: string) => void,
): Promise<DoneFault[]> {
  const done: DoneFault[] = []
  const busy = new Map<string, Promise<void>>()
  let before: Promise<void> = Promise.resolve()
  for (const planned of schedule) {
    if (!planned.onTop) await before
    await sleep(planned.afterMs)
    const { part } = FAULTS[planned.fault]
    const key = part === 'node' ? `node ${planned.node}` : part
    await busy.get(key)
    const at = new Date().toISOString().slice(11, 23)
    before = inflict(world, planned).then(fault => {
      done.push(fault)
      const where = part === 'node' ? ` ${planned.node}` : ''
      tell(
        `${at} ${planned.fault}${where}, ${fault.toMs - fault.fromMs} ms${fault.failure ? `: ${fault.failure}` : ''}`,
      )
    })
    busy.set(key, before)
  }
  await Promise.all(busy.values())
  return done
}

/** Plays stories until enough operations are asked for and every fault is over. */
async function playStories(
  world: World,
  { seed, operations }: ChaosOptions,
  inflicting: Promise<unknown>,
  tell: (line: string) => void,
): Promise<Story[]> {
  const stories: Story[] = []
  const failure = new AbortController()
  let next = 0
  let asked = 0
  let faultsOver = false
  void inflicting.then(() => {
    faultsOver = true
  })

  async function teller(): Promise<void> {
    while (!(asked >= operations && faultsOver)) {
      const planned = planStory(seed, next)
      next += 1
      asked += planned.kind === 'listed' ? 100 : world.parties[planned.party].devices.length
      const story = await playStory(world, planned, failure.signal)
      stories.push(story)
      const { status, total } = story.end.report.summary
      tell(`${new Date().toISOString().slice(11, 23)} the ${story.kind} job ${story.id} of ${total} is ${status}`)
    }
  }
  await Promise.all(
    Array.from({ length: AT_ONCE }, () =>
      teller().catch((error: unknown) => {
        failure.abort(error)
        throw error
      }),
    ),
  )
  return stories
}

/** Looks again and again for what must not be at any moment; a look that is not answered is no look. Answers how many there were. */
async function sample(world: World, snapshots: Snapshots, wrong: string[], over: AbortSignal): Promise<Looks> {
  const looks = { snapshots: 0, verified: 0 }
  for (let turn = 0; !over.aborted; turn += 1) {
    await sleep(SAMPLE_EVERY_MS, undefined, { signal: over }).catch(() => {})
    if (over.aborted) break
    const looked = await world.database.on(snapshots.look).then(
      () => true,
      () => false,
    )
    looks.snapshots += Number(looked)
    if (turn % VERIFY_EVERY !== 0) continue
    for (const { client } of world.parties) {
      const { status, body } = await client.once<VerifyView>('GET', '/north/v80/operation/verify?size=20')
      if (status !== 200) continue
      looks.verified += 1
      for (const each of body.differences) wrong.push(`2: verify, while it ran: ${JSON.stringify(each)}`)
    }
  }
  return looks
}
