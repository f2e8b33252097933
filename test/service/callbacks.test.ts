/**
 * What a running service tells of its jobs: the start and the end, once each, in this order, for every way in which a job can start and
 * end; by callback to applications, by mail and trap to people.
 */
import { createHmac } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import type { JobView } from '../../src/contract/job.ts'
import { createCallbackReceiver, type HeardNotification } from '../callback-receiver.ts'
import { httpDevice, responseTo } from '../connectors/http-devices.ts'
import { ADMIN, isFinal, openHouse, response } from './house.ts'
import { asking, FAR, on, TASKS, TYPES, task } from './interface/asking.ts'
import { mailServer, trapReceiver } from './people-receivers.ts'

const SIGNING = Buffer.from('a key that only the two of us know')
const mail = await mailServer()
const trap = await trapReceiver()
const house = await openHouse({
  DROVER_MIN_OPERATION_TIMEOUT_MS: '0',
  DROVER_CALLBACK_STARTED_NAME: 'begun',
  DROVER_CALLBACK_FINISHED_NAME: 'over',
  DROVER_CALLBACK_SECRET: `whsec_${SIGNING.toString('base64')}`,
  DROVER_SMTP_URL: `smtp://127.0.0.1:${mail.port}`,
  DROVER_SNMP_TRAP_HOST: '127.0.0.1',
  DROVER_SNMP_TRAP_PORT: String(trap.port),
})
const { cancel, make, makeTask, jobsOf, makeType, put, readJob, untilJob, user } = asking(house)

let made = 0

/** A device of its own that waits to be asked. */
async function waiting(): Promise<{ id: string; key: string }> {
  made += 1
  return { id: `waiting-${made}`, key: await house.provision(`waiting-${made}`) }
}

/** A device that answers every request with a word. */
async function saying(resultCode = 'SUCCESSFUL'): Promise<string> {
  made += 1
  const url = await httpDevice((received, reply) => void reply.writeHead(201).end(responseTo(received, { resultCode })))
  await house.provision(`saying-${made}`, { 'provision.device.operation.url': url })
  return `saying-${made}`
}

async function launched(callback: string, request: object = {}) {
  const device = await waiting()
  const { id } = await make(on([device.id], { callback, ...request }))
  // A job with a short stop may have ended before anybody looked.
  const operation = await house.until(id, seen => seen.status === 'WAITING_FOR_CONNECTION' || isFinal(seen))
  return { id, device, operation }
}

async function answers({ id, key }: { id: string; key: string }, operationId: string): Promise<void> {
  await house.south(id, key, 'operation/pending')
  const said = await house.south(id, key, 'operation/response', response(operationId, { resultCode: 'SUCCESSFUL' }))
  expect(said.status).toBe(200)
}

/** What is logged of a job: one row for each notification, made in the transaction that moved the job. */
async function logged(job: string): Promise<number> {
  const { body } = await house.call<{ deliveries: unknown[] } | undefined>('GET', `/north/v80/deliveries?job=${job}`)
  return body?.deliveries.length ?? 0
}

const told = ({ path, body }: HeardNotification) => {
  const { report } = (JSON.parse(body) as { job: JobView }).job
  return path.endsWith('/begun') ? 'begun' : `over ${report.summary.status}`
}

type Way = (callback: string) => Promise<string>
const ways: readonly (readonly [title: string, way: Way, told: readonly string[]])[] = [
  [
    'starts at once and succeeds',
    async callback => (await make(on([await saying()], { callback }))).id,
    ['begun', 'over FINISHED'],
  ],
  [
    'starts after a delay',
    async callback => (await make(on([await saying()], { callback, schedule: { start: { delayed: 400 } } }))).id,
    ['begun', 'over FINISHED'],
  ],
  [
    'starts at a date',
    async callback => {
      const date = new Date(Date.now() + 400).toISOString()
      return (await make(on([await saying()], { callback, schedule: { start: { date } } }))).id
    },
    ['begun', 'over FINISHED'],
  ],
  [
    'is made inactive and activated later',
    async callback => {
      const { id } = await make(on([await saying()], { callback, active: false }))
      await put(id, { active: true })
      return id
    },
    ['begun', 'over FINISHED'],
  ],
  [
    'is made by a task',
    async callback => {
      const task = await makeTask(on([await saying()], { callback }), { schedule: {} })
      return (await jobsOf(task.id))[0]!.id
    },
    ['begun', 'over FINISHED'],
  ],
  [
    'fails on its device',
    async callback => (await make(on([await saying('ERROR_PROCESSING')], { callback }))).id,
    ['begun', 'over FINISHED_WITH_ERRORS'],
  ],
  [
    'is not acknowledged in time',
    async callback => {
      const operationParameters = { ackTimeout: 300, timeout: 300 }
      return (await make(on([(await waiting()).id], { callback, operationParameters }))).id
    },
    ['begun', 'over FINISHED_WITH_ERRORS'],
  ],
  [
    'finds its device busy',
    async callback => {
      const { device } = await launched('')
      return (await make(on([device.id], { callback }))).id
    },
    ['begun', 'over FINISHED_WITH_ERRORS'],
  ],
  [
    'finds nothing behind its tag',
    async callback => (await make({ ...on([]), target: { append: { tags: ['of-nobody'] } }, callback })).id,
    ['begun', 'over FINISHED_WITH_ERRORS'],
  ],
  [
    'is paused and resumed',
    async callback => {
      const { id, device, operation } = await launched(callback)
      for (const active of [false, true, false, true]) await put(id, { active })
      await answers(device, operation.operationId)
      return id
    },
    ['begun', 'over FINISHED'],
  ],
  [
    'ends while it is paused',
    async callback => {
      const { id, device, operation } = await launched(callback)
      await house.south(device.id, device.key, 'operation/pending')
      await put(id, { active: false })
      await answers(device, operation.operationId)
      return id
    },
    ['begun', 'over FINISHED'],
  ],
  [
    'is cancelled while it runs',
    async callback => {
      const { id } = await launched(callback)
      await cancel(id)
      return id
    },
    ['begun', 'over CANCELLED'],
  ],
  [
    'is cancelled while it is paused',
    async callback => {
      const { id } = await launched(callback)
      await put(id, { active: false })
      await cancel(id)
      return id
    },
    ['begun', 'over CANCELLED'],
  ],
  [
    'is cancelled before its start',
    async callback => {
      const { id } = await make(on([await saying()], { callback, schedule: { start: { date: FAR } } }))
      await cancel(id)
      return id
    },
    ['over CANCELLED'],
  ],
  [
    'is cancelled while it is idle',
    async callback => {
      const { id } = await make(on([await saying()], { callback, active: false }))
      await cancel(id)
      return id
    },
    ['over CANCELLED'],
  ],
  [
    'is cancelled with its task',
    async callback => {
      const task = await makeTask(on([(await waiting()).id], { callback }), { schedule: {} })
      const [{ id }] = (await jobsOf(task.id)) as [JobView]
      await untilJob(id, 'IN_PROGRESS')
      await house.call('DELETE', `/north/v80/operation/tasks/${task.id}`)
      return id
    },
    ['begun', 'over CANCELLED'],
  ],
  [
    'reaches its stop',
    async callback => (await launched(callback, { schedule: { stop: { delayed: 600 } } })).id,
    ['begun', 'over TIMEOUT_CANCELLED'],
  ],
  [
    'reaches its stop while it is paused',
    async callback => {
      const { id } = await launched(callback, { schedule: { stop: { delayed: 600 } } })
      await put(id, { active: false })
      return id
    },
    ['begun', 'over TIMEOUT_CANCELLED'],
  ],
  [
    'loses its entity',
    async callback => {
      const { id, device } = await launched(callback)
      await house.call('DELETE', `/north/v80/provision/organizations/drover/devices/${device.id}`)
      return id
    },
    ['begun', 'over FINISHED_WITH_ERRORS'],
  ],
  [
    'loses its operation type',
    async callback => {
      await makeType({ name: 'SHORT_LIVED' })
      const { id } = await launched(callback, { name: 'SHORT_LIVED' })
      await house.call('DELETE', `${TYPES}/SHORT_LIVED`)
      return id
    },
    ['begun', 'over FINISHED_WITH_ERRORS'],
  ],
  [
    'loses its entity before its start',
    async callback => {
      const device = await waiting()
      const { id } = await make(on([device.id], { callback, schedule: { start: { delayed: 700 } } }))
      await house.call('DELETE', `/north/v80/provision/organizations/drover/devices/${device.id}`)
      return id
    },
    ['begun', 'over FINISHED_WITH_ERRORS'],
  ],
  [
    'loses its operation type before its start',
    async callback => {
      await makeType({ name: 'SHORTER_LIVED' })
      const { id: device } = await waiting()
      const schedule = { start: { delayed: 700 } }
      const { id } = await make(on([device], { name: 'SHORTER_LIVED', callback, schedule }))
      await house.call('DELETE', `${TYPES}/SHORTER_LIVED`)
      return id
    },
    ['begun', 'over FINISHED_WITH_ERRORS'],
  ],
  [
    'reaches its stop before its window has opened',
    async callback => {
      const inThreeDays = new Date(Date.now() + 3 * 86_400_000).getUTCDay()
      const days = [['SUN', 'MON', 'TUE', 'WED', 'THU', 'FRI', 'SAT'][inThreeDays]]
      const window = { weekly: [{ days, daily: { start: '10:00:00Z', stop: '11:00:00Z' } }] }
      return (await make(on([await saying()], { callback, schedule: { window, stop: { delayed: 500 } } }))).id
    },
    ['begun', 'over TIMEOUT_CANCELLED'],
  ],
  [
    'finds nothing by its filter',
    async callback => {
      const filter = { eq: { 'provision.device.identifier': 'of-nobody' } }
      return (await make({ ...on([]), target: { filter }, callback }, '?resourceType=entity.device')).id
    },
    ['begun', 'over FINISHED_WITH_ERRORS'],
  ],
  [
    'is the next of its task and cancelled before its turn',
    async callback => {
      const { id } = await makeTask(on([await saying()], { callback }), { schedule: { start: { date: FAR } } })
      const [next] = (await jobsOf(id)) as [JobView]
      await cancel(next.id)
      return next.id
    },
    ['over CANCELLED'],
  ],
  [
    'may not be run any more by whoever made its task',
    async callback => {
      await makeType({ name: 'FOR_FEWER', profiles: ['admin'] })
      const headers = await user('narrowed@drover.test', 'admin')
      const schedule = { repeating: { period: { each: 1, unit: 'SECONDS' } }, stop: { executions: 1 } }
      const body = task(on([await saying()], { name: 'FOR_FEWER', callback }), { schedule, active: false })
      const made = await house.call<{ task: { id: string } }>('POST', TASKS, body, headers)
      expect(made.status).toBe(201)
      await house.call('PUT', `${TYPES}/FOR_FEWER`, { profiles: ['root'] })
      await house.call('PUT', `${TASKS}/${made.body.task.id}`, { task: { active: true } })
      const ended = async () =>
        (await jobsOf(made.body.task.id)).find(({ report }) => report.execution.startedDate !== '')?.id
      await expect.poll(ended, { timeout: 45_000 }).toBeDefined()
      return (await ended())!
    },
    ['begun', 'over FINISHED_WITH_ERRORS'],
  ],
  [
    'is cancelled from outside',
    async callback => (await make(on([await saying('CANCELLED')], { callback }))).id,
    ['begun', 'over FINISHED_WITH_ERRORS'],
  ],
]

describe('a job that', () => {
  test.for(ways)('%s tells exactly that, once and in order', async ([, way, expected]) => {
    const receiver = await createCallbackReceiver()
    const id = await way(`${receiver.url}/fleet/`)
    const heard = await receiver.hears(expected.length)
    expect(heard.map(told)).toEqual(expected)
    expect(await logged(id)).toBe(expected.length)
    const read = await readJob(id)
    for (const notification of heard) expectToTheLetter(notification, read)
    expect(receiver.heard).toHaveLength(expected.length)
  })

  test('has ended is silent about answers that come late', async () => {
    const receiver = await createCallbackReceiver()
    const device = await waiting()
    const { id } = await make(
      on([device.id], { callback: receiver.url, operationParameters: { ackTimeout: 60_000, timeout: 300 } }),
    )
    await house.until(id, ({ status }) => status === 'WAITING_FOR_CONNECTION')
    await house.south(device.id, device.key, 'operation/pending')
    await receiver.hears(2)
    const { operationId } = await house.until(id, isFinal)
    await house.south(device.id, device.key, 'operation/response', response(operationId, { resultCode: 'SUCCESSFUL' }))
    await house.until(id, ({ status }) => status === 'FINISHED_OUT_OF_TIME')
    expect(await logged(id)).toBe(2)
  })

  test('goes with its task before its turn tells nobody', async () => {
    const receiver = await createCallbackReceiver()
    const schedule = { start: { date: FAR } }
    const { id } = await makeTask(on([await saying()], { callback: receiver.url }), { schedule })
    const [next] = (await jobsOf(id)) as [JobView]
    expect((await house.call('DELETE', `${TASKS}/${id}`)).status).toBe(200)
    expect(await logged(next.id)).toBe(0)
  })

  test.for([[''], [undefined]])('has the callback %j tells nobody', async ([callback]) => {
    const { id } = await make(on([await saying()], callback === undefined ? {} : { callback }))
    await untilJob(id, 'FINISHED')
    expect(await logged(id)).toBe(0)
  })

  test('is told of is told again on demand, with the same id and body', async () => {
    const receiver = await createCallbackReceiver()
    const { id } = await make(on([await saying()], { callback: receiver.url }))
    await receiver.hears(2)
    const finished = async () => {
      const { body } = await house.call<{ deliveries: { id: string; event: string; state: string }[] }>(
        'GET',
        `/north/v80/deliveries?job=${id}`,
      )
      return body.deliveries.find(({ event }) => event === 'jobFinished')
    }
    // Heard is not yet written down; while it is open, a repeat is the attempt that is under way.
    await expect.poll(async () => (await finished())?.state, { timeout: 45_000 }).toBe('DELIVERED')
    const again = await house.call('POST', `/north/v80/deliveries/${(await finished())!.id}/repeat`)
    expect(again.status).toBe(200)
    const heard = await receiver.hears(3)
    expect(heard[2]!.body).toBe(heard[1]!.body)
    expect(heard[2]!.headers['webhook-id']).toBe(heard[1]!.headers['webhook-id'])
  })

  test('has notify is told to people by mail and trap as well, at its end, beside its callback', async () => {
    const receiver = await createCallbackReceiver()
    const { id } = await make(on([await saying()], { callback: receiver.url, notify: true, userNotes: 'by night' }))
    const [mailed] = await mail.heard.until(1, ({ text }) => text.includes(id))
    expect(mailed).toMatchObject({ to: ADMIN, text: expect.stringContaining('FINISHED') })
    const [trapped] = await trap.heard.until(1, values => values.includes(id))
    expect(trapped).toEqual(expect.arrayContaining([id, 'REBOOT_EQUIPMENT', ADMIN, 'FINISHED']))
    await receiver.hears(2)
    expect(await logged(id)).toBe(4)
  })
})

test('a receiver that is dead delays no other', async () => {
  const [dead, live] = [await createCallbackReceiver(), await createCallbackReceiver()]
  dead.answer(() => {})
  const device = await saying()
  for (let k = 0; k < 12; k += 1) await untilJob((await make(on([device], { callback: dead.url }))).id, 'FINISHED')
  await dead.hears(1)
  const { id } = await make(on([device], { callback: live.url }))
  expect((await live.hears(2)).map(told)).toEqual(['begun', 'over FINISHED'])
  expect(await logged(id)).toBe(2)
})

/** Members and headers as the interface lists them, no more and no fewer. */
function expectToTheLetter({ path, method, headers, body }: HeardNotification, read: JobView): void {
  expect(method).toBe('POST')
  expect(headers['content-type']).toMatch(/^application\/json/)
  const signed = `${headers['webhook-id']}.${headers['webhook-timestamp']}.${body}`
  expect(headers['webhook-signature']).toBe(`v1,${createHmac('sha256', SIGNING).update(signed).digest('base64')}`)
  const { job } = JSON.parse(body) as { job: JobView & { result: { page: object; operations: object[] } } }
  const { activatedDate, startedDate } = read.report.execution
  if (path === '/fleet/begun') {
    const { name, parameters, notify, user } = read.request
    expect(job).toEqual({
      id: read.id,
      request: { name, parameters, notify, user },
      report: { execution: { activatedDate, startedDate, finishedDate: '' } },
    })
    return
  }
  expect(path).toBe('/fleet/over')
  const { execution, summary } = read.report
  const { id, request, report, result } = job
  expect({ id, request, report }).toEqual({ id: read.id, request: read.request, report: { execution, summary } })
  expect(Object.keys(job).sort()).toEqual(['id', 'report', 'request', 'result'])
  expect(result.page).toEqual({ number: 1, of: summary.total === 0 ? expect.any(Number) : 1 })
  expect(result.operations).toHaveLength(summary.total)
}
