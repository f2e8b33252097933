/** What is held open for an operation that is over is said to be, and for no other. */
import { expect, test } from 'vitest'
import type { Connector, HeldExchange, OperationRequest } from '../../src/engine/connector.ts'
import { createExchangeKeeping } from '../../src/engine/exchange-keeper.ts'
import { testDatabase } from '../database.ts'
import { ids, MINUTE, say, sentTo } from './scenario.ts'
import { createWorkbench, jobRequest } from './workbench.ts'

const { database } = await testDatabase()
const bench = await createWorkbench(database)
await bench.provision(ids('d', 4))
const released: HeldExchange[] = []
let held: readonly OperationRequest[] = []
const connector: Connector = {
  flow: 'http',
  capacity: () => 0,
  held: () => [...held],
  release: exchanges => void released.push(...exchanges),
  send: () => {},
  stop: () => Promise.resolve(),
}
const keep = createExchangeKeeping(database, [connector])
const idsOf = (exchanges: readonly HeldExchange[]) =>
  exchanges.map(({ key }) => held.find(request => request.key.entity === key.entity)!.device.deviceId)

test('exchanges of operations that ended, were cancelled or are tried again are released, and of those that run none', async () => {
  const target = { append: { entities: ids('d', 4) } }
  const operationParameters = {
    ackTimeout: 10_000,
    timeout: 10 * MINUTE,
    retries: 1,
    retriesDelay: 0,
    retryResultList: [],
  }
  const { job } = await bench.jobs.create(bench.caller, jobRequest({ target, operationParameters }))
  await bench.settle()
  held = [...bench.sent]
  expect(sentTo(bench).toSorted()).toEqual(ids('d', 4))
  await say(bench, job, 'd-0', {})
  await say(bench, job, 'd-1', { resultCode: 'SUCCESSFUL' })
  const signal = new AbortController().signal
  await keep(bench.clock.now(), signal)
  expect(idsOf(released)).toEqual(['d-1'])

  released.length = 0
  await bench.advance(11_000)
  await keep(bench.clock.now(), signal)
  expect(idsOf(released).toSorted()).toEqual(['d-1', 'd-2', 'd-3'])

  released.length = 0
  await bench.jobs.cancel(bench.caller, job)
  await bench.settle()
  await keep(bench.clock.now(), signal)
  expect(idsOf(released).toSorted()).toEqual(ids('d', 4))
})

test.for([
  [30_000, 90_000, 30_000],
  [90_000, 30_000, 90_000],
  [0, 45_000, 45_000],
] as const)(
  'with an ackTimeout of %i and a timeout of %i an exchange may be held open for %i ms',
  async ([ackTimeout, timeout, exchangeMs]) => {
    const target = { append: { entities: ['d-0'] } }
    const operationParameters = { ackTimeout, timeout, retries: 0, retriesDelay: 0, retryResultList: [] }
    const { job } = await bench.jobs.create(bench.caller, jobRequest({ target, operationParameters }))
    await bench.settle()
    expect(bench.sent.at(-1)).toMatchObject({ key: { job }, exchangeMs })
    await bench.jobs.cancel(bench.caller, job)
    await bench.settle()
  },
)
