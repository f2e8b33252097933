/** Three engines with real clocks and loops on one database, one of which dies in the middle of 20,000 operations. */
import { afterAll, expect, test } from 'vitest'
import { summaryOf } from '../../src/domain/counters.ts'
import { numberSource, operationId } from '../../src/domain/identity.ts'
import { createClock } from '../../src/engine/clock.ts'
import type { Connector, OperationRequest } from '../../src/engine/connector.ts'
import { createEngine } from '../../src/engine/engine.ts'
import { recountJobs } from '../../src/store/counters.ts'
import { openDatabase } from '../../src/store/database.ts'
import { lockJobs, readJob } from '../../src/store/jobs.ts'
import { sql } from '../../src/store/statement.ts'
import { silentLog, testDatabase } from '../database.ts'
import { mortal } from './mortal-database.ts'
import { answered, ids } from './scenario.ts'
import { createWorkbench, jobRequest } from './workbench.ts'

const OPERATIONS = 20_000
const DOOMED = 102
const { database, url } = await testDatabase()
const clock = createClock(Date.now)
const applicability = { resourceTypes: ['entity.device'], models: [] }

/** Who sent which launch, in order. */
const senders = new Map<string, number[]>()
const ended = Promise.withResolvers<void>()
const half = Promise.withResolvers<void>()

/** Devices that acknowledge nothing and answer within a few milliseconds, in the same exchange. */
function devicesOf(node: number): Connector {
  let open = 0
  return {
    flow: 'http',
    capacity: () => Math.max(0, 500 - open),
    send(requests, report) {
      for (const request of requests) {
        open += 1
        note(node, request)
        report(request, { seen: 'sent' })
        setTimeout(
          () => {
            open -= 1
            report(request, answered(request, 'SUCCESSFUL'))
          },
          1 + (Number(request.key.entity) % 10),
        )
      }
    },
    stop: () => Promise.resolve(),
  }
}

function note(node: number, { id, launchedAt }: OperationRequest): void {
  const launch = `${id}@${launchedAt}`
  const known = senders.get(launch)
  if (known) known.push(node)
  else senders.set(launch, [node])
  if (senders.size === OPERATIONS / 2) half.resolve()
}

function engineOf(node: number) {
  const name = `engine-${node}`
  const own = mortal(openDatabase({ url, max: 6, applicationName: name, log: silentLog }))
  const engine = createEngine({
    database: own,
    clock,
    log: silentLog,
    node,
    nodeName: name,
    roles: ['engine'],
    connectors: [devicesOf(node)],
    notices: { started: () => Promise.resolve(), finished: async (_, jobs) => void (jobs.length && ended.resolve()) },
    nextNumber: numberSource(Date.now, node),
    openKey: sealed => sealed.toString(),
    pullRedeliveryMs: 30_000,
    retentionMonths: null,
    deliveryRetentionMs: 90 * 86_400_000,
    callMs: 86_400_000,
    applicabilityOf: () => Promise.resolve(applicability),
    compile: () => Promise.resolve(sql`true`),
  })
  return { engine, own, name, node }
}

const engines = [101, DOOMED, 103].map(engineOf)
afterAll(async () => {
  for (const { engine, own, node } of engines) {
    if (node !== DOOMED) await engine.stop()
    await own.close()
  }
})

test('everything ends although an engine dies in the middle, and nothing is sent twice but what it had in hand', {
  timeout: 180_000,
}, async () => {
  const bench = await createWorkbench(database, { node: 100 })
  await bench.provision(ids('many', OPERATIONS), { tags: ['many'] })
  // The answers in the dead one's open exchanges are lost with it: those operations are tried again.
  const operationParameters = {
    ackTimeout: 10_000,
    timeout: 60_000,
    retries: 1,
    retriesDelay: 0,
    retryResultList: [],
  }
  const { job } = await bench.jobs.create(
    bench.caller,
    jobRequest({ target: { append: { tags: ['many'] } }, operationParameters }),
  )
  await bench.engine.stop()
  const startedMs = performance.now()
  for (const { engine } of engines) await engine.start(true)

  await half.promise
  const doomed = engines.find(({ node }) => node === DOOMED)!
  doomed.own.die()
  await database.query(
    sql`select pg_terminate_backend(pid) from pg_stat_activity where application_name = ${doomed.name}`,
  )
  const sentBeforeDeath = [...senders.values()].filter(nodes => nodes.includes(DOOMED)).length
  await doomed.engine.gatherer.stop()
  await doomed.engine.stop().catch(() => {})
  await ended.promise
  // The end is told in its transaction: its lock is free once that is committed.
  await database.transaction(tx => lockJobs(tx, [job]))
  const seconds = (performance.now() - startedMs) / 1_000

  const row = (await readJob(database, bench.caller.organization, job))!
  expect({ status: row.status, ...summaryOf(row.counters) }).toMatchObject({
    status: 'FINISHED',
    total: OPERATIONS,
    finished: { successful: OPERATIONS },
  })
  expect((await recountJobs(database, [job])).get(job)).toEqual(row.counters)
  const again = await database.query<{ job: bigint; partition: number; entity: bigint; attempt: number }>(
    sql`select job, partition, entity, attempt from operation_ended where job = ${job} and attempt > 1`,
  )
  const sendersOf = (id: string) => [...senders].filter(([launch]) => launch.startsWith(`${id}@`)).map(([, by]) => by)
  for (const operation of again) {
    expect(operation.attempt).toBe(2)
    expect(sendersOf(operationId(operation))[0]).toContain(DOOMED)
  }

  const repeated = [...senders.values()].filter(nodes => nodes.length > 1)
  expect(senders.size).toBe(OPERATIONS + again.length)
  for (const nodes of repeated) expect(nodes.filter(node => node !== DOOMED).length).toBe(1)
  const shares = engines.map(({ node }) => [...senders.values()].filter(nodes => nodes.at(-1) === node).length)
  console.log(
    `three engines: ${OPERATIONS} operations in ${seconds.toFixed(1)} s (${Math.round(OPERATIONS / seconds)}/s), sent by`,
    shares,
    `- ${sentBeforeDeath} by the dead one; ${repeated.length} sent again after its death, ${again.length} tried again`,
  )
})
