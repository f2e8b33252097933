import { afterAll, describe, expect, test } from 'vitest'
import type { JobView } from '../../src/contract/job.ts'
import type { OperationView } from '../../src/contract/operation.ts'
import type { Flow } from '../../src/simulator/options.ts'
import { createCallbackReceiver } from '../callback-receiver.ts'
import { bringUpFleet } from './fleet.ts'
import { ADMIN, openHouse } from './house.ts'
import { countersOf, createJob, readJob, readOperations, recount, updateRequest } from './jobs.ts'

const service = await openHouse({ DROVER_MIN_OPERATION_TIMEOUT_MS: '0' })
const { client } = service
const LONG_MS = 180_000
const STEPS = ['BEGINUPDATE', 'DOWNLOADFILE', 'BEGININSTALL', 'ENDINSTALL', 'ENDUPDATE']

describe('a job on a tag with 200 devices of each flow', async () => {
  const fleet = await bringUpFleet(service, { devices: 800, prefix: 'crew', seed: 7 })
  afterAll(() => fleet.stop())
  const flowOf = new Map(fleet.devices.map(({ id, flow }) => [id, flow]))
  let ended: JobView
  let operations: OperationView[]

  test(
    'is started and finished once each, and both callbacks carry what the interface says, to the letter',
    async () => {
      const receiver = await createCallbackReceiver()
      const request = updateRequest('crew', {
        callback: `${receiver.url}/fleet/`,
        userNotes: 'spring',
        operationParameters: { ackTimeout: 30_000, timeout: 120_000 },
      })
      const created = await createJob(client, request)
      expect(created.report.summary).toMatchObject({ status: 'SCHEDULED', total: 0 })
      const [started, finished] = await receiver.hears(2)
      ended = await readJob(client, created.id)
      operations = await readOperations(client, created.id)

      expect([started?.method, started?.path, finished?.method, finished?.path]).toEqual([
        ...['POST', '/fleet/jobStarted'],
        ...['POST', '/fleet/jobFinished'],
      ])
      expect(started?.headers['content-type']).toMatch(/^application\/json/)
      const { activatedDate, startedDate } = ended.report.execution
      expect(JSON.parse(started!.body)).toEqual({
        job: {
          id: created.id,
          request: { name: 'UPDATE', parameters: request.parameters, notify: false, user: ADMIN },
          report: { execution: { activatedDate, startedDate, finishedDate: '' } },
        },
      })
      expect(JSON.parse(finished!.body)).toEqual({
        job: {
          id: created.id,
          request: ended.request,
          report: { execution: ended.report.execution, summary: ended.report.summary },
          result: { page: { number: 1, of: 8 }, operations: operations.slice(0, 100) },
        },
      })
      expect(receiver.heard).toHaveLength(2)
    },
    LONG_MS,
  )

  test('ends FINISHED, and its counters equal a recount of its operations', () => {
    expect(ended.report.summary.status).toBe('FINISHED')
    expect(countersOf(ended)).toEqual(recount(operations))
    expect(ended.report.summary.finished.successful).toBe(800)
  })

  test.each<[Flow]>([['mqtt'], ['http-sync'], ['http-async'], ['pull']])(
    'finishes every %s device once, with the steps it went through in their order',
    flow => {
      const own = operations.filter(({ entityId }) => flowOf.get(entityId) === flow)
      expect(new Set(own.map(({ entityId }) => entityId)).size).toBe(200)
      expect(own).toHaveLength(200)
      for (const { status, result, attempts, steps, execution } of own) {
        expect([status, result, attempts]).toEqual(['FINISHED', 'SUCCESSFUL', { total: 1, current: 1 }])
        expect(steps.map(step => `${step.name} ${step.result}`)).toEqual(STEPS.map(name => `${name} SUCCESSFUL`))
        expect([execution.startedDate, execution.finishedDate].filter(date => Number.isNaN(Date.parse(date)))).toEqual(
          [],
        )
      }
    },
  )

  test('asks each device once', () => {
    expect(fleet.counters).toMatchObject({ received: 800, repeated: 0, executed: 800, doubled: 0, refused: 0 })
  })
})

test(
  'a hundred devices that answer twice and late end FINISHED_OUT_OF_TIME and are counted once each',
  async () => {
    const late = new Map<string, number>()
    const allSaid = Promise.withResolvers<void>()
    const fleet = await bringUpFleet(
      service,
      { devices: 100, prefix: 'laggard', parts: 0, duplicate: 1, late: 1, lateByMs: 10_000 },
      ({ what, kind, operationId }) => {
        if (what !== 'answered' || kind !== 'final') return
        late.set(operationId, (late.get(operationId) ?? 0) + 1)
        if (late.size === 100 && [...late.values()].every(count => count === 2)) allSaid.resolve()
      },
    )
    try {
      const receiver = await createCallbackReceiver()
      const request = updateRequest('laggard', {
        callback: receiver.url,
        operationParameters: { ackTimeout: 1_000, timeout: 1_000 },
      })
      const { id } = await createJob(client, request)
      const [, finished] = await receiver.hears(2)
      const inTime = (JSON.parse(finished!.body) as { job: JobView }).job.report
      expect(inTime.summary).toMatchObject({
        status: 'FINISHED_WITH_ERRORS',
        total: 100,
        finished: { cancelled: { byTimeout: 100 } },
      })

      await allSaid.promise
      const job = await readJob(client, id)
      const operations = await readOperations(client, id)
      expect(new Set(operations.map(({ status, result }) => `${status} ${result}`))).toEqual(
        new Set(['FINISHED_OUT_OF_TIME SUCCESSFUL']),
      )
      expect(operations.filter(({ steps }) => steps.length !== STEPS.length)).toEqual([])
      expect(countersOf(job)).toEqual(recount(operations))
      expect(job.report.summary).toMatchObject({
        status: 'FINISHED_WITH_ERRORS',
        total: 100,
        finished: { total: 0 },
        finishedOutOfTime: { total: 100, successful: 100, error: 0 },
      })
      // A late answer moves counters only: never the job's dates, and it tells nobody.
      expect(job.report.execution).toEqual(inTime.execution)
      expect(receiver.heard).toHaveLength(2)
      expect(fleet.counters).toMatchObject({ executed: 100, duplicated: 100, refused: 0, undelivered: 0 })
    } finally {
      await fleet.stop()
    }
  },
  LONG_MS,
)
