import { expect, test } from 'vitest'
import { operationId } from '../../src/domain/identity.ts'
import { KEPT_MESSAGE_CHARACTERS_MAX } from '../../src/domain/kept-message.ts'
import { sql } from '../../src/store/statement.ts'
import { testDatabase } from '../database.ts'
import { answered, deviceOf, ids, operationOf, SECOND, say, silent, summaryOfJob } from './scenario.ts'
import { createWorkbench, jobRequest } from './workbench.ts'

const { database } = await testDatabase()
const bench = await createWorkbench(database)
const { jobs, caller } = bench
let made = 0

/** A job whose requests were sent and wait for their devices. */
async function jobOf(count: number, more: { stop?: number; retries?: number } = {}) {
  made += 1
  const devices = ids(`answer-${made}`, count)
  await bench.provision(devices)
  bench.device = silent
  const { job } = await jobs.create(
    caller,
    jobRequest({
      target: { append: { entities: devices } },
      schedule: more.stop === undefined ? {} : { stop: { delayed: more.stop } },
      operationParameters: {
        ackTimeout: 60_000,
        timeout: 60_000,
        retries: more.retries ?? 0,
        retriesDelay: 0,
        retryResultList: more.retries ? ['ERROR_PROCESSING'] : [],
      },
    }),
  )
  await bench.settle()
  return { job, devices, device: devices[0]! }
}
const step = (name: string, result = 'SUCCESSFUL') => ({ name, result })
const filed = async (job: bigint) =>
  (
    await database.query<{ reason: string }>(
      sql`select reason from filed_message where operation_id like ${`${job.toString(16).padStart(16, '0')}%`}`,
    )
  ).map(({ reason }) => reason)

test('parts grow the steps, a repeat replaces its step, and the final answer ends the operation', async () => {
  const { job, device } = await jobOf(1)
  await say(bench, job, device, { steps: [step('A'), step('B', 'ERROR')] })
  await say(bench, job, device, { steps: [step('C'), step('B')] })
  expect(await operationOf(bench, job, device)).toMatchObject({ status: 'IN_PROGRESS' })
  await say(bench, job, device, { steps: [step('D')], resultCode: 'PARTIAL_SUCCESS', resultDescription: 'most of it' })
  const ended = await operationOf(bench, job, device)
  expect(ended).toMatchObject({ status: 'FINISHED', result: 'PARTIAL_SUCCESS', description: 'most of it' })
  expect(ended.steps?.map(({ name, result }) => `${name} ${result}`)).toEqual([
    'A SUCCESSFUL',
    'B SUCCESSFUL',
    'C SUCCESSFUL',
    'D SUCCESSFUL',
  ])
})

test('an acknowledgement or part may overtake the commit of "sent"', async () => {
  const { job, device } = await jobOf(0 + 1)
  await bench.provision(['overtaking'])
  bench.device = async (request, report) => {
    await say(bench, jobOfRequest(request.id), 'overtaking', { steps: [step('QUICK')] })
    report({ seen: 'sent' })
  }
  const jobOfRequest = (id: string) => BigInt(`0x${id.slice(0, 16)}`)
  const { job: quick } = await jobs.create(caller, jobRequest({ target: { append: { entities: ['overtaking'] } } }))
  await bench.settle()
  expect(await operationOf(bench, quick, 'overtaking')).toMatchObject({
    status: 'IN_PROGRESS',
    steps: [{ name: 'QUICK' }],
  })
  expect(await operationOf(bench, job, device)).toMatchObject({ status: 'WAITING_FOR_ACK' })
})

test('an answer in the same exchange that changes nothing is filed, as one that comes later is', async () => {
  made += 1
  const device = `answer-${made}`
  await bench.provision([device])
  bench.device = (request, report) => {
    report(answered(request, 'SUCCESSFUL', 'the first'))
    report(answered(request, 'ERROR_PROCESSING', 'the second'))
  }
  const { job: twice } = await jobs.create(caller, jobRequest({ target: { append: { entities: [device] } } }))
  await bench.settle()
  expect(await operationOf(bench, twice, device)).toMatchObject({
    result: 'SUCCESSFUL',
    messages: [{ raw: 'the first' }],
  })
  expect(await filed(twice)).toEqual(['stray'])
})

test('two answers of one operation in one gathered batch are taken in their order, the second is filed', async () => {
  const { job, device } = await jobOf(1)
  const answers = await Promise.all([
    say(bench, job, device, { steps: [step('A')] }),
    say(bench, job, device, { resultCode: 'SUCCESSFUL', steps: [step('B')] }),
    say(bench, job, device, { resultCode: 'ERROR_PROCESSING' }),
  ])
  expect(answers).toEqual(['taken', 'taken', 'taken'])
  await bench.settle()
  expect(await operationOf(bench, job, device)).toMatchObject({ result: 'SUCCESSFUL', steps: [{}, {}] })
  expect(await filed(job)).toEqual(['stray'])
  expect(await summaryOfJob(bench, job)).toMatchObject({ status: 'FINISHED', finished: { total: 1 } })
})

test('one answer that arrives at two souths at once counts once', async () => {
  const other = await createWorkbench(database, { node: 2, clock: bench.clock })
  const { job, devices } = await jobOf(50)
  const word = { resultCode: 'SUCCESSFUL', steps: [step('DONE')] }
  await Promise.all(devices.flatMap(device => [say(bench, job, device, word), say(other, job, device, word)]))
  await bench.settle()
  expect(await summaryOfJob(bench, job)).toMatchObject({ status: 'FINISHED', finished: { successful: 50 } })
  expect((await filed(job)).length).toBe(50)
})

test('parts that arrive at two souths in the same millisecond are all kept', async () => {
  const other = await createWorkbench(database, { node: 3, clock: bench.clock })
  const { job, devices } = await jobOf(20)
  await Promise.all(devices.map(device => say(bench, job, device)))
  await Promise.all(
    devices.flatMap(device => [
      say(bench, job, device, { steps: [step('ONE')] }),
      say(other, job, device, { steps: [step('TWO')] }),
    ]),
  )
  for (const device of devices) {
    const { steps } = await operationOf(bench, job, device)
    expect(steps?.map(({ name }) => name).sort()).toEqual(['ONE', 'TWO'])
  }
})

test('a final answer after a time-out is FINISHED_OUT_OF_TIME, and moves counters only', async () => {
  const { job, devices } = await jobOf(3, { stop: 30 * SECOND })
  await bench.advance(31 * SECOND)
  const before = await summaryOfJob(bench, job)
  expect(before).toMatchObject({ status: 'TIMEOUT_CANCELLED', finished: { cancelled: { byEngine: 3 } } })
  bench.told.length = 0
  await say(bench, job, devices[0]!, { resultCode: 'SUCCESSFUL', steps: [step('LATE')] })
  await say(bench, job, devices[1]!, { resultCode: 'NOT_SUPPORTED' })
  await say(bench, job, devices[2]!, { steps: [step('PART')] })
  await bench.advance(SECOND)
  expect(await operationOf(bench, job, devices[0]!)).toMatchObject({
    status: 'FINISHED_OUT_OF_TIME',
    result: 'SUCCESSFUL',
    steps: [{ name: 'LATE' }],
  })
  const { status, finishedAt, finished, finishedOutOfTime, total } = await summaryOfJob(bench, job)
  expect({ status, finishedAt, total }).toEqual({
    status: before.status,
    finishedAt: before.finishedAt,
    total: before.total,
  })
  expect(finished).toMatchObject({ total: 1, cancelled: { byEngine: 1 } })
  expect(finishedOutOfTime).toEqual({ total: 2, successful: 1, error: 1 })
  expect(bench.told).toEqual([])
  await say(bench, job, devices[0]!, { resultCode: 'ERROR_PROCESSING' })
  expect(await operationOf(bench, job, devices[0]!)).toMatchObject({ result: 'SUCCESSFUL' })
})

test.each([
  ['CANCELLED', 'CANCELLED', 'byExternal'],
  ['CANCELLED_INTERNAL', 'CANCELLED', 'byExternal'],
  ['TIMEOUT_CANCELLED', 'CANCELLED', 'byExternalTimeout'],
])('the word %s is a cancel from outside', async (resultCode, result, counter) => {
  const { job, device } = await jobOf(1)
  await say(bench, job, device, { resultCode })
  expect(await operationOf(bench, job, device)).toMatchObject({ status: 'CANCELLED', result })
  expect((await summaryOfJob(bench, job)).finished.cancelled).toMatchObject({ total: 1, [counter]: 1 })
})

test('a word that the service does not know is UNKNOWN_RESULT', async () => {
  const { job, device } = await jobOf(1)
  await say(bench, job, device, { resultCode: 'SPLENDID' })
  expect(await operationOf(bench, job, device)).toMatchObject({ status: 'FINISHED', result: 'UNKNOWN_RESULT' })
})

test('what is no operation of this device, or was never launched, is unknown and filed', async () => {
  const { job, device } = await jobOf(2)
  const submit = async (id: string, from: string) =>
    await bench.engine.answers.submit({
      operationId: id,
      organization: caller.organization,
      deviceId: from,
      ...(await deviceOf(bench, from)),
      resultCode: 'SUCCESSFUL',
      steps: [],
    })
  const mine = operationId({ job, ...(await deviceOf(bench, device)) })
  expect(await submit('nonsense', device)).toBe('unknown')
  expect(await submit(mine, 'overtaking')).toBe('unknown')
  expect(await submit(operationId({ job: job + 1n, ...(await deviceOf(bench, device)) }), device)).toBe('unknown')
  const { job: idle } = await jobs.create(
    caller,
    jobRequest({ active: false, target: { append: { entities: [device] } } }),
  )
  expect(await say(bench, idle, device, { resultCode: 'SUCCESSFUL' })).toBe('unknown')
  expect(await operationOf(bench, job, device)).toMatchObject({ status: 'WAITING_FOR_ACK' })
})

test.each([
  ['a NUL', 'bad \u0000 text'],
  ['half a surrogate pair', 'bad \ud800 text'],
])('of a batch with %s in a step only the guilty message is refused, and it is filed', async (_, description) => {
  const { job, devices } = await jobOf(40)
  const outcomes = await Promise.allSettled(
    devices.map((device, i) =>
      say(bench, job, device, {
        resultCode: 'SUCCESSFUL',
        steps: [i === 17 ? { ...step('A'), description } : step('A')],
        raw: 'as it came',
      }),
    ),
  )
  expect(outcomes.map(({ status }) => status)).toEqual(devices.map((_d, i) => (i === 17 ? 'rejected' : 'fulfilled')))
  expect((outcomes[17] as PromiseRejectedResult).reason).toMatchObject({ entry: { code: '0x010202' } })
  await bench.settle()
  expect(await summaryOfJob(bench, job)).toMatchObject({ finished: { successful: 39 }, inProgress: { total: 1 } })
  expect(await filed(job)).toEqual(['cannot be stored'])
})

test('of two answers, a repeat of one and a poisoned one that come together each gets its due', async () => {
  const { job, devices } = await jobOf(3)
  const [one, two, three] = devices as [string, string, string]
  const word = { resultCode: 'SUCCESSFUL', steps: [step('A')], raw: 'as it came' }
  const outcomes = await Promise.allSettled([
    say(bench, job, one, word),
    say(bench, job, two, { ...word, resultCode: 'ERROR_PROCESSING' }),
    say(bench, job, one, word),
    say(bench, job, three, { ...word, resultDescription: '\u0000' }),
  ])
  expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'fulfilled', 'rejected'])
  await bench.settle()
  expect(await operationOf(bench, job, one)).toMatchObject({ result: 'SUCCESSFUL', steps: [{ name: 'A' }] })
  expect(await operationOf(bench, job, two)).toMatchObject({ result: 'ERROR_PROCESSING' })
  expect(await operationOf(bench, job, three)).toMatchObject({ status: 'WAITING_FOR_ACK', steps: null })
  expect((await filed(job)).sort()).toEqual(['cannot be stored', 'stray'])
  expect(await summaryOfJob(bench, job)).toMatchObject({
    finished: { successful: 1, error: 1 },
    inProgress: { total: 1 },
  })
})

test('a poisoned answer in the exchange itself, which no device says again, ends the operation without its words', async () => {
  await bench.provision(['poisonous'])
  bench.device = (request, report) => {
    report({ seen: 'sent' })
    const answer = answered(request, 'SUCCESSFUL')
    if (answer.seen === 'answered') {
      report({ seen: 'answered', message: { ...answer.message, resultDescription: '\u0000', raw: '\u0000' } })
    }
  }
  const { job } = await jobs.create(caller, jobRequest({ target: { append: { entities: ['poisonous'] } } }))
  await bench.settle()
  expect(await operationOf(bench, job, 'poisonous')).toMatchObject({
    status: 'FINISHED',
    result: 'SUCCESSFUL',
    description: 'What was said of it cannot be stored.',
    messages: null,
  })
})

test('an answer that is cut in the middle of a character is kept, and ends the operation', async () => {
  const { job, devices } = await jobOf(2)
  const raw = `${'x'.repeat(KEPT_MESSAGE_CHARACTERS_MAX - 1)}😀`
  for (const device of devices) await say(bench, job, device, { resultCode: 'SUCCESSFUL', raw })
  for (const device of devices) {
    const { status, messages } = await operationOf(bench, job, device)
    expect(status).toBe('FINISHED')
    expect(messages?.map(message => message.raw)).toEqual(['x'.repeat(KEPT_MESSAGE_CHARACTERS_MAX - 1)])
  }
})

test('a late answer that is cut in the middle of a character is kept, too', async () => {
  const { job, device } = await jobOf(1, { stop: 30 * SECOND })
  await bench.advance(31 * SECOND)
  const raw = `${'x'.repeat(KEPT_MESSAGE_CHARACTERS_MAX - 1)}😀`
  await say(bench, job, device, { resultCode: 'SUCCESSFUL', raw })
  expect(await operationOf(bench, job, device)).toMatchObject({
    status: 'FINISHED_OUT_OF_TIME',
    messages: [{ raw: 'x'.repeat(KEPT_MESSAGE_CHARACTERS_MAX - 1) }],
  })
})

test('an acknowledgement is kept as it came where it says more, and not where it does not', async () => {
  const { job, devices } = await jobOf(2)
  const [bare, telling] = devices as [string, string]
  await say(bench, job, bare, { raw: 'acknowledged' })
  await say(bench, job, telling, { raw: 'acknowledged, and 42', saysMore: true })
  expect(await operationOf(bench, job, bare)).toMatchObject({ status: 'IN_PROGRESS', messages: null })
  expect(await operationOf(bench, job, telling)).toMatchObject({ messages: [{ raw: 'acknowledged, and 42' }] })
})

test('a failure that is told in words that cannot be stored is a failure, and retried as one', async () => {
  await bench.provision(['speechless'])
  bench.device = (_, report) => report({ seen: 'deviceFailed', description: 'threw \ud83d' })
  const { job } = await jobs.create(
    caller,
    jobRequest({
      target: { append: { entities: ['speechless'] } },
      operationParameters: { ackTimeout: 0, timeout: 60_000, retries: 1, retriesDelay: 0, retryResultList: [] },
    }),
  )
  await bench.settle()
  expect(await operationOf(bench, job, 'speechless')).toMatchObject({
    status: 'FINISHED',
    result: 'ERROR_PROCESSING',
    attempts: [{ result: 'ERROR_PROCESSING', description: 'What was said of it cannot be stored.' }],
  })
})

test('a connection lost in the middle is not the fault of the messages', async () => {
  const { job, devices } = await jobOf(3)
  bench.database.failNext(new Error('Connection terminated unexpectedly'))
  const outcomes = await Promise.allSettled(
    devices.map(device => say(bench, job, device, { resultCode: 'SUCCESSFUL' })),
  )
  const refused = outcomes.filter(outcome => outcome.status === 'rejected')
  expect(refused.length).toBeGreaterThan(0)
  for (const { reason } of refused) expect(reason.message).toBe('Connection terminated unexpectedly')
  for (const device of devices) await say(bench, job, device, { resultCode: 'SUCCESSFUL' })
  await bench.settle()
  expect(await summaryOfJob(bench, job)).toMatchObject({ status: 'FINISHED', finished: { successful: 3 } })
})
