/**
 * A world around the engine for the model test: two processes on one database that may die, devices of every flow that behave as
 * chance says, and a mailbox of messages on their way. It holds every launch and hand-out to the gates, and counts who got what.
 */
import { expect } from 'vitest'
import type { Caller } from '../../src/domain/caller.ts'
import type { JobRequest } from '../../src/domain/job.ts'
import { isOpen } from '../../src/domain/window.ts'
import type { OperationRequest, SendReport } from '../../src/engine/connector.ts'
import { storedWindow } from '../../src/engine/job-launching.ts'
import type { Database } from '../../src/store/database.ts'
import { sql } from '../../src/store/statement.ts'
import { createVirtualClock } from '../virtual-clock.ts'
import type { DeathPoint } from './mortal-database.ts'
import { answered, deviceOf, ids, say } from './scenario.ts'
import { createWorkbench, EPOCH, jobRequest, type Workbench } from './workbench.ts'

export type Flow = 'http' | 'mqtt' | 'pull'
export type Fleet = Readonly<Record<Flow, number>>

const NAMES = ['REBOOT_EQUIPMENT', 'REFRESH_INFO']
const FINAL_WORDS = ['SUCCESSFUL', 'PARTIAL_SUCCESS', 'ERROR_PROCESSING', 'ERROR_IN_PARAM', 'CANCELLED', 'OWN_WORD']

interface Letter {
  readonly dueAt: number
  readonly job: bigint
  readonly device: string
  readonly resultCode?: string
  readonly step?: string
}

/** What a connector is going to report of a request that is in flight; lost with its process. */
interface Flight {
  readonly dueAt: number
  readonly by: Workbench
  readonly report: () => void
}

/** The statements at whose commits processes die. */
export const DEATH_STATEMENTS = [
  'jobs_insert',
  'jobs_update',
  'targets_add_listed',
  'targets_rank_by_hash',
  'claims_claim',
  'claims_take_slots',
  'operations_update',
  'operations_end',
  'operations_upsert_detail',
  'operation_timers_arm',
  'operation_timers_take',
  'operation_cancels_end_of_job',
  'operation_waking_wake',
  'ended_operations_answer_late',
  'counters_take_deltas',
  'presence_record',
  'nodes_beat',
] as const

export type World = Awaited<ReturnType<typeof createWorld>>

/** Chance that depends on what happens, not on when: the same whatever the order in which two processes come to it. */
function chanceOf(seed: number, ...about: readonly (string | number)[]): number {
  let hash = seed ^ 0x9e3779b9
  for (const letter of about.join('/')) hash = Math.imul(hash ^ letter.charCodeAt(0), 0x85ebca6b) >>> 0
  hash ^= hash >>> 15
  return (Math.imul(hash, 0xc2b2ae35) >>> 0) / 2 ** 32
}

export async function createWorld(database: Database, fleet: Fleet, seed: number) {
  const clock = createVirtualClock(EPOCH)
  await database.executeSql(
    'create table told (place int generated always as identity, job bigint not null, kind text not null)',
  )
  const flows = new Map<string, Flow>()
  for (const flow of ['http', 'mqtt', 'pull'] as const) for (const id of ids(flow, fleet[flow])) flows.set(id, flow)
  const devices = [...flows.keys()]
  const jobs: bigint[] = []
  const closed = new Set<bigint>()
  const connected = new Map<string, { connection: string; by: Workbench }>()
  const requests = new Map<string, number>()
  const repeats = new Map<string, number>()
  const excused = new Set<string>()
  const taken: string[] = []
  const created = new Set<bigint>()
  const cancelled = new Set<bigint>()
  const standing = new Set<Workbench>()
  let flights: Flight[] = []
  let losses = 0
  let mailbox: Letter[] = []
  let crashes = 0
  let connections = 0
  let letters = 0
  let calm = false
  let nodes = 0

  async function process(): Promise<Workbench> {
    nodes += 1
    const bench = await createWorkbench(database, {
      node: nodes,
      cancelAtOnceMax: 5,
      clock,
      tell: async (tx, kind, told) => {
        for (const { job } of told) await tx.query(sql`insert into told (job, kind) values (${job}, ${kind})`)
      },
    })
    bench.device = (request, report) => receive(bench, request, report)
    bench.capacity = 7
    return bench
  }

  const first = await process()
  await database.executeSql(
    `insert into operation_type (organization, name, applicable_to, created_at)
     select organization, $1, '{entity.device}', $2 from organization`,
    [NAMES[1], EPOCH],
  )
  for (const flow of ['http', 'mqtt', 'pull'] as const) {
    const all = devices.filter(id => flows.get(id) === flow)
    if (all.length > 0) await first.provision(all, { flow, tags: ['all', flow] })
  }
  // The same devices and the same tags, in the hands of somebody else.
  await database.executeSql(
    `with other as (insert into organization (name, created_at) values ('other', $1) returning organization),
          types as (insert into operation_type (organization, name, applicable_to, created_at)
                    select o.organization, t.name, t.applicable_to, t.created_at from other o cross join operation_type t)
     insert into entity (partition, entity, organization, identifier, resource_type, document, tags, flow, created_at, updated_at)
     select e.partition, e.entity + 1000000, o.organization, e.identifier, e.resource_type, '{}', e.tags, e.flow, $1, $1
       from entity e cross join other o`,
    [EPOCH],
  )
  const [other] = await database.query<{ organization: number }>(
    sql`select organization from organization where name = 'other'`,
  )
  const stranger: Caller = { ...first.caller, organization: other!.organization, organizationName: 'other' }
  const benches: Workbench[] = [first, await process()]
  const awake = () => benches.filter(bench => !standing.has(bench))
  const living = () => awake()[Math.floor(chanceOf(seed, 'living', letters) * awake().length)]!

  /** Nothing reaches a device outside the window, while paused, before the start, after a cancel was answered. */
  async function holdGate({ key, id }: OperationRequest): Promise<void> {
    const now = clock.now()
    const [job] = await database.query<{ window: unknown; startAt: Date }>(sql`
      select request -> 'schedule' -> 'window' as window, start_at as "startAt" from job where job = ${key.job}`)
    breaches.push(
      ...(closed.has(key.job) ? [`${id} left while its job was closed`] : []),
      ...(isOpen(storedWindow(job!.window), now.getTime()) ? [] : [`${id} left outside the window`]),
      ...(job!.startAt <= now ? [] : [`${id} left before the start`]),
    )
  }
  const breaches: string[] = []

  /** The same launch goes out again only after a loss: a death, a reconnect, or a connector that did not send it. */
  function countLaunch({ id, launchedAt, device }: OperationRequest): number {
    const launch = `${id}@${launchedAt}`
    const times = (repeats.get(launch) ?? 0) + 1
    repeats.set(launch, times)
    if (times > 1 && losses === 0 && !excused.has(launch) && !excused.has(device.deviceId)) {
      breaches.push(`${launch} left ${times} times without a loss`)
    }
    const seen = (requests.get(id) ?? 0) + 1
    requests.set(id, seen)
    return seen
  }

  function receive(by: Workbench, request: OperationRequest, reportNow: (report: SendReport) => void): void {
    const report = inFlight(by, request, reportNow)
    const { deviceId } = request.device
    const job = request.key.job
    const seen = countLaunch(request)
    void holdGate(request)
    const mqtt = flows.get(deviceId) === 'mqtt'
    const refusal = refusalOf(request, seen, mqtt)
    report(refusal ?? { seen: 'sent' })
    if (refusal) {
      if (refusal.seen === 'notSent' || refusal.seen === 'away') excused.add(`${request.id}@${request.launchedAt}`)
      return
    }
    if (!mqtt && chanceOf(seed, 'at once', request.id, seen) < 0.3) {
      report(answered(request, calm ? 'SUCCESSFUL' : wordFor(request.id, seen)))
    } else perform(job, deviceId, request.id, seen)
  }

  /** Reports as a connector makes them: at once, or while the request is in flight, later ones never before earlier ones. */
  function inFlight(by: Workbench, { id, launchedAt }: OperationRequest, report: (report: SendReport) => void) {
    const about = [id, launchedAt, requests.get(id) ?? 0]
    if (calm || chanceOf(seed, 'slow', ...about) < 0.6) return report
    let dueAt = clock.now().getTime()
    return (each: SendReport) => {
      // Whether a request has left is known within two seconds; its exchange may be held open for long.
      const longestMs = each.seen === 'answered' ? 60_000 : 2_000
      dueAt += Math.floor(chanceOf(seed, 'flight', each.seen, ...about) ** 2 * longestMs)
      flights.push({ dueAt, by, report: () => report(each) })
    }
  }

  /** Why a request does not reach its device; now and then, while not everybody behaves. */
  function refusalOf({ id, device }: OperationRequest, seen: number, mqtt: boolean): SendReport | undefined {
    if (mqtt && !connected.has(device.deviceId)) return { seen: 'away' }
    const chance = calm ? 1 : chanceOf(seed, 'receive', id, seen)
    if (chance < 0.05) return { seen: 'notSent' }
    if (mqtt) return undefined
    if (chance < 0.1) return { seen: 'unreachable', description: 'refused' }
    if (chance < 0.15) return { seen: 'deviceFailed', description: '503' }
    return chance < 0.18 ? { seen: 'deviceRefused', description: '404' } : undefined
  }

  const wordFor = (...about: (string | number)[]) =>
    FINAL_WORDS[Math.floor(chanceOf(seed, 'word', ...about) * FINAL_WORDS.length)]!

  /** What a device does with a request: says nothing, or acknowledges, says parts and its end, late, twice or in disorder. */
  function perform(job: bigint, device: string, id: string, seen: number): void {
    if (!calm && chanceOf(seed, 'silent', id, seen) < 0.2) return
    const resultCode = calm ? 'SUCCESSFUL' : wordFor(id, seen)
    const pace = (about: string) => Math.floor(chanceOf(seed, about, id, seen) ** 3 * (calm ? 1_000 : 90_000))
    const words = [{}, { step: 'DOWNLOAD' }, { step: 'INSTALL' }, { resultCode, step: 'RESTART' }]
    words.forEach((word, i) => {
      if (i < 3 && chanceOf(seed, 'skip', id, seen, i) < 0.4) return
      const times = !calm && chanceOf(seed, 'twice', id, seen, i) < 0.2 ? 2 : 1
      for (let time = 0; time < times; time += 1) {
        mailbox.push({ dueAt: clock.now().getTime() + pace(`pace ${i} ${time}`), job, device, ...word })
      }
    })
  }

  /** Delivers what has arrived; what nobody answered is sent again, as devices do. */
  async function deliver(): Promise<void> {
    const now = clock.now().getTime()
    const landed = flights.filter(({ dueAt, by }) => dueAt <= now && !standing.has(by))
    flights = flights.filter(flight => !landed.includes(flight))
    for (const { report } of landed.sort((a, b) => a.dueAt - b.dueAt)) report()
    const due = mailbox.filter(letter => letter.dueAt <= now)
    mailbox = mailbox.filter(letter => letter.dueAt > now)
    await Promise.all(
      due.map(async letter => {
        letters += 1
        const raw = `letter ${letters}`
        const { job, device, resultCode, step } = letter
        const word = {
          ...(resultCode !== undefined && { resultCode }),
          steps: step === undefined ? [] : [{ name: step, result: 'SUCCESSFUL' }],
          raw,
        }
        const answer = await say(living(), job, device, word).catch(() => null)
        if (answer === null) mailbox.push({ ...letter, dueAt: now + 1_000 })
        if (answer === 'taken' && (resultCode !== undefined || step !== undefined)) taken.push(raw)
      }),
    )
  }

  async function buryTheDead(): Promise<void> {
    for (const [i, bench] of benches.entries()) {
      if (!bench.database.isDead()) continue
      await bench.abandon()
      crashes += 1
      losses += 1
      flights = flights.filter(({ by }) => by !== bench)
      standing.delete(bench)
      for (const [device, { by }] of connected) if (by === bench) connected.delete(device)
      benches[i] = await process()
    }
  }

  /** The processes may die in the middle of it; what they were doing is then done by whoever comes. */
  async function settle(): Promise<number | null> {
    const nexts = await Promise.all(awake().map(bench => bench.settle().catch(() => clock.now())))
    await buryTheDead()
    expect(breaches).toEqual([])
    return nexts.reduce<number | null>((a, next) => (next && (a === null || +next < a) ? +next : a), null)
  }

  /** Goes on in time by at most a few strides, so that what is due is done late now and then, as it is by busy processes. */
  async function advance(ms: number, strides = 8): Promise<void> {
    const until = clock.now().getTime() + ms
    let next = await settle()
    while (clock.now().getTime() < until) {
      const stride = clock.now().getTime() + Math.ceil(ms / strides)
      await clock.advanceTo(new Date(Math.min(until, Math.max(stride, next ?? until))))
      for (const bench of awake()) await bench.beat()
      await deliver()
      next = await settle()
    }
  }

  /** A client's command: unanswered where its process died under it, refused where the lifecycle says so. */
  async function command(work: (bench: Workbench) => Promise<unknown>): Promise<boolean> {
    try {
      await work(living())
      return true
    } catch (error) {
      if ((error as Error).name !== 'ProcessDied' && (error as Error).name !== 'DroverError') throw error
      return false
    } finally {
      await buryTheDead()
    }
  }

  const idleJobs = async () =>
    (await database.query<{ job: bigint }>(sql`select job from job where status = 'IDLE'`)).map(({ job }) => job)

  const jobAt = (index: number): bigint | undefined => jobs[index % Math.max(1, jobs.length)]
  const deviceAt = (index: number) => devices[index % devices.length]!

  return {
    clock,
    advance,
    settle,
    answered: { taken, created, cancelled },
    figures: () => ({
      jobs: jobs.length,
      requests: requests.size,
      sentAgain: [...repeats.values()].filter(times => times > 1).length,
      answers: taken.length,
      deaths: crashes,
      standstills: losses - crashes,
    }),
    async create(
      request: Omit<Partial<JobRequest>, 'target'> & {
        devices: readonly number[]
        tag: Flow | 'all' | null
        second: boolean
      },
    ) {
      const { devices: chosen, tag, second, ...rest } = request
      const entities = [...new Set(chosen.map(deviceAt))]
      const append = tag === null ? { entities } : { tags: [tag] }
      await command(async bench => {
        const request = jobRequest({ ...rest, name: NAMES[second ? 1 : 0]!, target: { append } })
        created.add((await bench.jobs.create(bench.caller, request)).job)
      })
      const known = await database.query<{ job: bigint }>(sql`select job from job order by job`)
      jobs.splice(0, jobs.length, ...known.map(({ job }) => job))
    },
    async close(how: 'pause' | 'cancel', index: number) {
      const job = jobAt(index)
      if (job === undefined) return
      const answeredIt = await command(bench =>
        how === 'cancel'
          ? bench.jobs.cancel(bench.caller, job)
          : bench.jobs.change(bench.caller, job, { active: false }),
      )
      if (answeredIt) closed.add(job)
      if (answeredIt && how === 'cancel') cancelled.add(job)
    },
    /** Somebody of another organization tries what only the owner may. */
    async trespass(index: number) {
      const job = jobAt(index)
      if (job === undefined) return
      for (const attempt of [
        (bench: Workbench) => bench.jobs.cancel(stranger, job),
        (bench: Workbench) => bench.jobs.change(stranger, job, { active: false }),
      ]) {
        if (await command(attempt)) breaches.push(`job ${job} obeyed a stranger`)
      }
      const [seen] = await database.query<{ job: bigint }>(sql`
        select job from job where organization = ${stranger.organization}`)
      expect(seen).toBeUndefined()
    },
    /** A process stands still while time passes and the other goes on; then it goes on as if nothing had been. */
    async standStill(index: number, ms: number) {
      const bench = benches[index % benches.length]!
      standing.add(bench)
      losses += 1
      await advance(ms)
      standing.delete(bench)
    },
    async open(index: number) {
      const job = jobAt(index)
      if (job === undefined) return
      // Open from the moment it is asked: the answer comes after the first launch may.
      closed.delete(job)
      const opened = await command(bench => bench.jobs.change(bench.caller, job, { active: true }))
      if (!opened) {
        const [row] = await database.query<{ status: string }>(sql`select status from job where job = ${job}`)
        if (row!.status !== 'IN_PROGRESS' && row!.status !== 'SCHEDULED') closed.add(job)
      }
    },
    async connect(index: number) {
      const mqtt = devices.filter(id => flows.get(id) === 'mqtt')
      const device = mqtt[index % Math.max(1, mqtt.length)]
      if (device === undefined) return
      connections += 1
      const connection = `c${connections}`
      excused.add(device)
      await command(async bench => {
        connected.set(device, { connection, by: bench })
        await bench.engine.presence.connected(
          await deviceOf(first, device).catch(() => deviceOf(bench, device)),
          connection,
        )
      })
    },
    async disconnect(index: number) {
      const [device, held] = [...connected][index % Math.max(1, connected.size)] ?? []
      if (device === undefined || held === undefined) return
      connected.delete(device)
      await command(async bench => bench.engine.presence.disconnected(await deviceOf(bench, device), held.connection))
    },
    async poll(index: number) {
      const pulling = devices.filter(id => flows.get(id) === 'pull')
      const device = pulling[index % Math.max(1, pulling.length)]
      if (device === undefined) return
      await command(async bench => {
        const request = await bench.engine.pending.take(await deviceOf(bench, device), 0, new AbortController().signal)
        if (!request) return
        await holdGate(request)
        const seen = (requests.get(request.id) ?? 0) + 1
        requests.set(request.id, seen)
        perform(request.key.job, device, request.id, seen)
      })
    },
    async kill(index: number, point: DeathPoint | null) {
      const bench = benches[index % benches.length]!
      if (point) bench.database.dieAt(point)
      else {
        bench.database.die()
        await buryTheDead()
      }
    },
    async outage(ms: number) {
      await clock.advanceTo(new Date(clock.now().getTime() + ms))
    },
    /** From here on everybody behaves: what is left must come to its end. */
    async comeToRest() {
      calm = true
      for (const bench of benches) bench.database.dieAt(null)
      // What time has carried past the end of a window is there for the next day's.
      for (let round = 0; round < 60; round += 1) {
        for (let i = 0; i < jobs.length; i += 1) await this.open(i)
        // A job whose target was empty cannot be activated.
        if (round === 3)
          for (const job of await idleJobs()) await command(bench => bench.jobs.cancel(bench.caller, job))
        for (let i = 0; i < fleet.mqtt; i += 1) await this.connect(i)
        for (let i = 0; i < fleet.pull * 2; i += 1) await this.poll(i)
        await advance(round < 4 ? 60_000 : 3_600_000, 3)
        const [open] = await database.query<{ count: number }>(
          sql`select count(*)::int from job where finished_at is null`,
        )
        if (open!.count === 0) return
      }
    },
  }
}
