/**
 * Whole operations per second inside the engine, with devices in the process that answer each request at once: created, claimed, sent,
 * acknowledged, one part, final. Beside it the limit: the same row changes as bare set-based SQL over as many connections.
 */
import { pino } from 'pino'
import type { Caller } from '../src/domain/caller.ts'
import { numberSource, partitionOf } from '../src/domain/identity.ts'
import { createClock } from '../src/engine/clock.ts'
import type { Connector, OperationRequest, SendReport } from '../src/engine/connector.ts'
import { createEngine } from '../src/engine/engine.ts'
import { createJobs } from '../src/engine/jobs.ts'
import { type Database, openDatabase } from '../src/store/database.ts'
import { migrate } from '../src/store/migrate.ts'
import { sql } from '../src/store/statement.ts'
import type { Measurement } from './figures.ts'
import { limitRun } from './limit.ts'
import { type BenchPostgres, startPostgres } from './postgres.ts'
import { databaseSeconds } from './processes.ts'

const log = pino({ level: 'silent' })

/** Both in one run, one after the other on one server, so that their ratio means something on any machine. */
export function lifecycle(operations = 50_000): Measurement {
  return {
    name: 'lifecycle',
    about: `${operations.toLocaleString('en')} operations of one job in the engine, and the same row changes as bare SQL in batches of 500 over 3 connections`,
    targets: { 'engine / limit': { least: 0.4 } },
    async run() {
      const limit = await onDatabase(({ database, postgres }) => limitRun(database, postgres, operations))
      const engine = await onDatabase(({ database, postgres }) => engineRun(database, postgres, operations))
      return {
        'engine, operations/s': engine.perSecond,
        'limit, operations/s': limit.perSecond,
        'engine / limit': engine.perSecond / limit.perSecond,
        'engine, CPU ms per operation': engine.cpuMs,
        'database, CPU ms per operation': engine.databaseMs,
        'limit, database CPU ms per operation': limit.databaseMs,
      }
    },
  }
}

async function onDatabase<T>(
  work: (on: { readonly database: Database; readonly postgres: BenchPostgres }) => Promise<T>,
): Promise<T> {
  const postgres = await startPostgres()
  try {
    await migrate({ url: postgres.url, log })
    const database = openDatabase({ url: postgres.url, log, max: 20 })
    try {
      return await work({ database, postgres })
    } finally {
      await database.close()
    }
  } finally {
    await postgres.stop()
  }
}

async function engineRun(
  database: Database,
  postgres: BenchPostgres,
  operations: number,
): Promise<{ perSecond: number; cpuMs: number; databaseMs: number }> {
  const clock = createClock(Date.now)
  const nextNumber = numberSource(Date.now, 1)
  const organization = await provision(database, operations, nextNumber)
  const ended = Promise.withResolvers<void>()
  const notices = { started: async () => {}, finished: async () => {} }
  const applicability = { resourceTypes: ['entity.device'], models: [] }
  const engine = createEngine({
    database,
    clock,
    log,
    node: 1,
    nodeName: 'bench',
    roles: ['engine'],
    connectors: [connector()],
    notices: {
      ...notices,
      finished: async (_, jobs) => {
        if (jobs.length > 0) ended.resolve()
      },
    },
    nextNumber,
    openKey: sealed => sealed.toString(),
    pullRedeliveryMs: 30_000,
    retentionMonths: null,
    deliveryRetentionMs: 86_400_000,
    applicabilityOf: () => Promise.resolve(applicability),
    compile: () => Promise.resolve(sql`true`),
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

  /** A device that acknowledges, tells of one step, and ends, each once the last is taken. */
  function connector(): Connector {
    let inHand = 0
    const answer = async ({ id, device }: OperationRequest) => {
      const { organization: of, deviceId, partition, entity } = device
      const message = { operationId: id, organization: of, deviceId, partition, entity, raw: '' }
      await engine.answers.submit({ ...message, steps: [] })
      await engine.answers.submit({ ...message, steps: [{ name: 'REBOOT', result: 'SUCCESSFUL' }] })
      await engine.answers.submit({ ...message, steps: [], resultCode: 'SUCCESSFUL' })
      inHand -= 1
    }
    return {
      flow: 'http',
      capacity: () => 2_000 - inHand,
      send(requests, report: (request: OperationRequest, report: SendReport) => void) {
        inHand += requests.length
        for (const request of requests) {
          report(request, { seen: 'sent' })
          void answer(request)
        }
      },
      stop: () => Promise.resolve(),
    }
  }

  await engine.start(true)
  const cpuBefore = process.cpuUsage()
  const databaseBefore = databaseSeconds(postgres.pid)
  const startedAt = performance.now()
  const caller: Caller = { email: 'bench@localhost', organization, organizationName: 'drover', profile: 'admin' }
  await jobs.create(caller, {
    name: 'REBOOT_EQUIPMENT',
    parameters: {},
    active: true,
    schedule: {},
    notify: false,
    callback: '',
    operationParameters: { ackTimeout: 60_000, timeout: 600_000, retries: 0, retriesDelay: 0, retryResultList: [] },
    target: { append: { tags: ['bench'] } },
  })
  await ended.promise
  const ms = performance.now() - startedAt
  const { user, system } = process.cpuUsage(cpuBefore)
  const databaseMs = ((databaseSeconds(postgres.pid) - databaseBefore) * 1000) / operations
  await engine.stop()
  return { perSecond: (operations / ms) * 1000, cpuMs: (user + system) / 1000 / operations, databaseMs }
}

async function provision(database: Database, operations: number, nextNumber: () => bigint): Promise<number> {
  await database.query(sql`insert into organization (name, created_at) values ('drover', now())`)
  const [row] = await database.query<{ organization: number }>(sql`select organization from organization`)
  const organization = row!.organization
  await database.query(sql`
    insert into operation_type (organization, name, applicable_to, created_at)
    values (${organization}, 'REBOOT_EQUIPMENT', '{entity.device}', now())`)
  const names = Array.from({ length: operations }, (_, i) => `bench-${i}`)
  await database.query(sql`
    insert into entity (partition, entity, organization, identifier, resource_type, document, tags, flow, url, created_at, updated_at)
    select i.partition, i.entity, ${organization}, i.identifier, 'entity.device', '{}', '{bench}', 'http', 'http://127.0.0.1:9/', now(), now()
      from unnest(${names.map(name => partitionOf(organization, name))}::smallint[], ${names.map(() => nextNumber())}::bigint[],
                  ${names}::text[]) as i(partition, entity, identifier)`)
  await database.executeSql('analyze entity')
  return organization
}
