/**
 * What clients do in a run: jobs of many kinds, each followed to its end by a client that does not give up, and what the answers
 * promised on the way: when nothing may reach a device any more. It judges nothing.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { JobView } from '../../src/contract/job.ts'
import { randomOf } from '../../src/simulator/random.ts'
import type { StubbornAnswer } from './client.ts'
import type { Party, World } from './world.ts'

export const STORY_KINDS = [
  'plain',
  'listed',
  'paused',
  'cancelled',
  'stopped',
  'later',
  'closed',
  'opening',
  'closing',
] as const
export type StoryKind = (typeof STORY_KINDS)[number]

/** Instants between which nothing of a job may be launched; `to` null is for ever. */
export interface Closed {
  readonly why: string
  readonly from: number
  readonly to: number | null
}

/** One job from its making to its end, as its client saw it. */
export interface Story {
  readonly kind: StoryKind
  readonly party: Party
  readonly id: string
  /** identifiers of the devices that it must have exactly one operation on */
  readonly devices: readonly string[]
  readonly retries: number
  readonly closed: readonly Closed[]
  /** whether a cancel was answered 200: it had not ended then, and nothing but CANCELLED may come of it */
  readonly cancelTaken: boolean
  /** as read when it had ended */
  readonly end: JobView
}

const CANCELLED_KINDS: ReadonlySet<StoryKind> = new Set(['closed', 'cancelled', 'closing'])

export interface Planned {
  readonly kind: StoryKind
  readonly party: 0 | 1
  readonly name: string
  readonly key: string
  readonly retries: number
  /** after how long the client does what the kind is about, and for how long */
  readonly afterMs: number
  readonly forMs: number
}

const NAMES = [
  'REBOOT_EQUIPMENT',
  'REFRESH_INFO',
  'EQUIPMENT_DIAGNOSTIC',
  'SYNCHRONIZE_CLOCK',
  'DISCOVER',
  'POWER_ON_EQUIPMENT',
]
const LISTED = 100
const LOOK_EVERY_MS = 500
/** Longer than every attempt of every operation can take, and every fault. */
const ENDED_WITHIN_MS = 400_000
const STOP_AFTER_MS = 12_000
const START_AFTER_MS = 4_000
/** When a window opens or closes in the middle of a job. */
const WINDOW_AFTER_MS = 6_000
const HOUR_MS = 3_600_000
/** Clocks of nodes agree to within what a measurement over a busy connection can err. */
const CLOCKS_MS = 500
export const TIMES = { ackTimeout: 7_000, timeout: 9_000, retriesDelay: 500 }

/** The nth job of a run. The first of each kind come early, so that a short run has them all. */
export function planStory(seed: number, n: number): Planned {
  const random = randomOf(seed, 'story', n)
  const pick = <T>(from: readonly T[]): T => from[Math.floor(random() * from.length)]!
  const kind = STORY_KINDS[n] ?? (random() < 0.5 ? 'plain' : pick(STORY_KINDS))
  return {
    kind,
    party: kind === 'plain' && random() < 0.25 ? 1 : 0,
    name: pick(NAMES),
    key: `story-${seed}-${n}`,
    retries: pick([0, 2, 3]),
    afterMs: Math.round(500 + 2_500 * random()),
    forMs: Math.round(2_500 + 4_000 * random()),
  }
}

/** Plays a story to its end. Fails when the service answers what it must not. */
export async function playStory(world: World, planned: Planned, over: AbortSignal): Promise<Story> {
  const party = world.parties[planned.party]
  const { client } = party
  const devices = (planned.kind === 'listed' ? party.devices.slice(0, LISTED) : party.devices).map(({ id }) => id)
  const closed: Closed[] = []
  let cancelTaken = false
  // Windows are written in whole seconds.
  const turnsAt = Math.ceil((Date.now() + WINDOW_AFTER_MS) / 1_000) * 1_000
  const created = await client.call<JobView>(
    'POST',
    '/north/v80/operation/jobs',
    { job: { request: requestOf(world, planned, turnsAt) } },
    {
      'idempotency-key': planned.key,
    },
  )
  must(created, 201, planned)
  const { id } = created.body
  const path = `/north/v80/operation/jobs/${id}`

  switch (planned.kind) {
    case 'listed': {
      const change = { target: { append: { entities: devices } } }
      must(await client.call('PUT', path, { job: { request: change } }), 200, planned)
      closed.push({ why: 'not yet active', from: 0, to: Date.now() })
      must(await client.call('PUT', path, { job: { request: { active: true } } }), 200, planned)
      break
    }
    case 'paused': {
      await sleep(planned.afterMs, undefined, { signal: over })
      const paused = await client.call<JobView>('PUT', path, { job: { request: { active: false } } })
      if (isOver(paused)) break
      must(paused, 200, planned)
      await sleep(planned.forMs, undefined, { signal: over })
      closed.push({ why: 'paused', from: paused.answeredAt, to: Date.now() })
      const resumed = await client.call<JobView>('PUT', path, { job: { request: { active: true } } })
      if (!isOver(resumed)) must(resumed, 200, planned)
      break
    }
    case 'later':
      closed.push({ why: 'not yet started', from: 0, to: created.askedAt + START_AFTER_MS })
      break
    case 'closed':
      closed.push({ why: 'outside its window', from: 0, to: null })
      await sleep(planned.forMs * 2, undefined, { signal: over })
      break
    case 'opening':
      closed.push({ why: 'before its window', from: 0, to: turnsAt - CLOCKS_MS })
      break
    case 'closing':
      closed.push({ why: 'after its window', from: turnsAt + CLOCKS_MS, to: null })
      // Long enough for what is sent after it to be told from what was in hand.
      await sleep(Math.max(0, turnsAt - Date.now()) + planned.forMs * 2, undefined, { signal: over })
  }
  if (CANCELLED_KINDS.has(planned.kind)) {
    await sleep(planned.afterMs, undefined, { signal: over })
    const cancelled = await client.call<JobView>('DELETE', path)
    if (!isOver(cancelled)) must(cancelled, 200, planned)
    cancelTaken = cancelled.status === 200
    closed.push({ why: 'cancelled', from: cancelled.answeredAt, to: null })
  }
  const { kind, retries } = planned
  const end = await followToEnd(party, path, over)
  const startedAt = Date.parse(end.report.execution.startedDate)
  if (kind === 'stopped' && startedAt > 0) closed.push({ why: 'stopped', from: startedAt + STOP_AFTER_MS, to: null })
  return { kind, party, id, devices, retries, closed, cancelTaken, end }
}

function must({ status, body }: StubbornAnswer<unknown>, expected: number, planned: Planned): void {
  if (status === expected) return
  throw new Error(`${JSON.stringify(planned)} was answered ${status}: ${JSON.stringify(body).slice(0, 500)}`)
}

/** A job that has ended cannot be paused, resumed or cancelled: also where a first try was not answered and did it. */
function isOver({ status, body }: StubbornAnswer<unknown>): boolean {
  return status === 400 && JSON.stringify(body).includes('0x020010')
}

async function followToEnd({ client }: Party, path: string, over: AbortSignal): Promise<JobView> {
  for (const until = Date.now() + ENDED_WITHIN_MS; ; ) {
    const { status, body } = await client.call<JobView>('GET', path)
    if (status !== 200) throw new Error(`${path} was answered ${status}`)
    if (Date.now() > until) throw new Error(`${path} does not end: ${JSON.stringify(body.report.summary)}`)
    const { status: word, inProgress } = body.report.summary
    if (/^(FINISHED|FINISHED_WITH_ERRORS|CANCELLED|TIMEOUT_CANCELLED)$/.test(word)) {
      if (inProgress.total === 0) return body
    }
    await sleep(LOOK_EVERY_MS, undefined, { signal: over })
  }
}

function requestOf(world: World, { kind, party, name, retries }: Planned, turnsAt: number): Record<string, unknown> {
  const tag = party === 0 ? 'sim' : 'other'
  return {
    name,
    parameters: {},
    active: kind !== 'listed',
    target: kind === 'listed' ? { append: { entities: [] } } : { append: { tags: [tag] } },
    callback: world.receiver.url,
    operationParameters: { ...TIMES, retries },
    schedule: scheduleOf(kind, turnsAt),
  }
}

function scheduleOf(kind: StoryKind, turnsAt: number): Record<string, unknown> {
  // Spread over some ten seconds, so that a pause finds what has not been launched.
  if (kind === 'paused') return { stop: { delayed: 120_000 }, scattering: { maxSpread: 10 } }
  if (kind === 'stopped') return { stop: { delayed: STOP_AFTER_MS } }
  if (kind === 'later') return { start: { delayed: START_AFTER_MS } }
  const time = (at: number) => `${new Date(at).toISOString().slice(11, 19)}Z`
  const between = (start: number, stop: number) => ({ weekly: [{ daily: { start: time(start), stop: time(stop) } }] })
  if (kind === 'opening') return { window: between(turnsAt, turnsAt + HOUR_MS) }
  // It would open again tomorrow: spread over some half a minute, most is not launched when it closes.
  if (kind === 'closing') {
    return {
      window: between(turnsAt - HOUR_MS, turnsAt),
      stop: { delayed: 24 * HOUR_MS },
      scattering: { maxSpread: 1 },
    }
  }
  if (kind !== 'closed') return {}
  const hour = (ahead: number) => `${String((new Date().getUTCHours() + ahead) % 24).padStart(2, '0')}:00:00Z`
  return { window: { weekly: [{ daily: { start: hour(3), stop: hour(5) } }] } }
}
