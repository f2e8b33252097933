/**
 * An engine in this process, with devices in it that answer once it is written that their request was sent: they acknowledge, tell of one
 * step, and end, each once the one before is written. What a service has beside it, doors and deliveries, is left out.
 */
import { pino } from 'pino'
import type { Caller } from '../src/domain/caller.ts'
import { COUNTERS, type Counters, noCounters } from '../src/domain/counters.ts'
import { numberSource, partitionOf } from '../src/domain/identity.ts'
import { createClock } from '../src/engine/clock.ts'
import type { Connector, OperationRequest, SendReport } from '../src/engine/connector.ts'
import { createEngine, type Engine } from '../src/engine/engine.ts'
import { createJobs } from '../src/engine/jobs.ts'
import type { Happening } from '../src/engine/operation-draft.ts'
import { exactCounters, recountJobs } from '../src/store/counters.ts'
import type { Database } from '../src/store/database.ts'
import { sql } from '../src/store/statement.ts'

const log = pino({ level: 'silent' })
/** As many as keep the lanes in full batches. */
export const IN_HAND_MAX = 4_000

export interface BenchEngine {
  readonly engine: Engine
  /** requests that devices here have been sent, by operation */
  readonly requests: Map<string, number>
  /** row changes that followed the launches: one of an operation in a batch, however much happened to it */
  changes(): number
  /** Creates the job over everything tagged `bench`; answers its number. */
  createJob(organization: number): Promise<bigint>
  /** resolved when a job has ended here */
  readonly ended: Promise<void>
}

/** Builds it; nothing is started. */
export function benchEngine(database: Database, node: number): BenchEngine {
  const clock = createClock(Date.now)
  const nextNumber = numberSource(Date.now, node)
  const ended = Promise.withResolvers<void>()
  const requests = new Map<string, number>()
  const answering = new Map<bigint, () => void>()
  let changes = 0
  const notices = {
    started: async () => {},
    finished: async (_: unknown, jobs: readonly unknown[]) => {
      if (jobs.length > 0) ended.resolve()
    },
  }
  const applicability = { resourceTypes: ['entity.device'], models: [] }

  const engine = createEngine({
    database,
    clock,
    log,
    node,
    nodeName: `bench-${node}`,
    roles: ['engine'],
    connectors: [connector()],
    notices,
    nextNumber,
    openKey: sealed => sealed.toString(),
    pullRedeliveryMs: 30_000,
    retentionMonths: null,
    deliveryRetentionMs: 86_400_000,
    callMs: 86_400_000,
    applicabilityOf: () => Promise.resolve(applicability),
    compile: () => Promise.resolve(sql`true`),
    observer: { ran: () => {}, applied },
  })
  const jobs = createJobs({
    database,
    now: clock.now,
    nextNumber,
    notices,
    settling: engine.settling,
    findType: (_tx, _organization, name) =>
      Promise.resolve({ name, profiles: null, applicability, judgeParameters: own => ({ ...own }) }),
    compile: () => Promise.resolve(sql`true`),
    cancelAtOnceMax: 10_000,
    onCommit: engine.wake,
  })

  function applied(happenings: readonly Happening[]): void {
    const changed = new Set(happenings.map(({ key }) => key.entity))
    changes += changed.size
    for (const entity of changed) {
      answering.get(entity)?.()
      answering.delete(entity)
    }
  }

  function connector(): Connector {
    let inHand = 0
    const answer = async ({ id, device }: OperationRequest) => {
      const { organization: of, deviceId, partition, entity } = device
      const message = { operationId: id, organization: of, deviceId, partition, entity }
      await engine.answers.submit({ ...message, steps: [] })
      await engine.answers.submit({ ...message, steps: [{ name: 'REBOOT', result: 'SUCCESSFUL' }] })
      await engine.answers.submit({ ...message, steps: [], resultCode: 'SUCCESSFUL' })
      inHand -= 1
    }
    return {
      flow: 'http',
      capacity: () => IN_HAND_MAX - inHand,
      send(sent, report: (request: OperationRequest, report: SendReport) => void) {
        inHand += sent.length
        for (const request of sent) {
          requests.set(request.id, (requests.get(request.id) ?? 0) + 1)
          answering.set(request.key.entity, () => void answer(request))
          report(request, { seen: 'sent' })
        }
      },
      stop: () => Promise.resolve(),
    }
  }

  return {
    engine,
    requests,
    changes: () => changes,
    ended: ended.promise,
    async createJob(organization) {
      const caller: Caller = { email: 'bench@localhost', organization, organizationName: 'drover', profile: 'admin' }
      const { job } = await jobs.create(caller, {
        name: 'REBOOT_EQUIPMENT',
        parameters: {},
        active: true,
        schedule: {},
        notify: false,
        callback: '',
        operationParameters: { ackTimeout: 60_000, timeout: 600_000, retries: 0, retriesDelay: 0, retryResultList: [] },
        target: { append: { tags: ['bench'] } },
      })
      return job
    },
  }
}

/** An organization with entities tagged `bench`, made by SQL; answers its number. */
export async function provisionBench(database: Database, operations: number): Promise<number> {
  await database.query(sql`insert into organization (name, created_at) values ('drover', now())`)
  const [row] = await database.query<{ organization: number }>(sql`select organization from organization`)
  const organization = row!.organization
  await database.query(sql`
    insert into operation_type (organization, name, applicable_to, created_at)
    values (${organization}, 'REBOOT_EQUIPMENT', '{entity.device}', now())`)
  const names = Array.from({ length: operations }, (_, i) => `bench-${i}`)
  const nextNumber = numberSource(Date.now, 0)
  await database.query(sql`
    insert into entity (partition, entity, organization, identifier, resource_type, document, tags, flow, url, created_at, updated_at)
    select i.partition, i.entity, ${organization}, i.identifier, 'entity.device', '{}', '{bench}', 'http', 'http://127.0.0.1:9/', now(), now()
      from unnest(${names.map(name => partitionOf(organization, name))}::smallint[], ${names.map(() => nextNumber())}::bigint[],
                  ${names}::text[]) as i(partition, entity, identifier)`)
  return organization
}

/** Fails unless all operations of a job have ended well, and its counters say what a recount of its rows says. */
export async function assertExact(database: Database, job: bigint, operations: number): Promise<void> {
  const [counters] = await database.query<Counters>(
    sql`select counters.* from (values (${job}::bigint)) as j(job) cross join ${exactCounters}`,
  )
  const rows = (await recountJobs(database, [job])).get(job)!
  const wanted: Counters = { ...noCounters(), successful: operations }
  for (const name of COUNTERS) {
    if (counters![name] === wanted[name] && rows[name] === wanted[name]) continue
    throw new Error(
      `${name}: the counters say ${counters![name]}, the rows ${rows[name]}, the job should ${wanted[name]}`,
    )
  }
}
