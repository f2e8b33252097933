/** The page of notifications, held to what is sent, to the log's interface and to the bounds of the code. */
import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { interfaceDocument } from '../../scripts/interface-document.ts'
import { unknownVariables } from '../../src/config/config.ts'
import { notificationVariables } from '../../src/config/notifications.ts'
import { addressRules } from '../../src/connectors/address-guard.ts'
import { CALLBACK_ATTEMPT_MS, CALLBACK_CONNECT_MS, createCallbackConnector } from '../../src/connectors/callback.ts'
import { DeliveriesQuery } from '../../src/contract/delivery.ts'
import { CALLBACK_LENGTH_MAX } from '../../src/domain/callback-address.ts'
import { DELIVERY_STATES } from '../../src/domain/delivery.ts'
import { DELIVERIES_PER_RECEIVER } from '../../src/engine/delivery-worker.ts'
import { TOLD_BYTES_MAX } from '../../src/north/told-operations.ts'
import { GIVE_UP_AFTER_MS, PAUSES } from '../../src/service/deliveries.ts'
import { noticeMessage } from '../job-notice.ts'
import { codeIn, readPage } from './page.ts'

const page = await readPage('reference/notifications.md')
const hours = (ms: number) => ms / 3_600_000
const seconds = (ms: number) => ms / 1_000

test('what a callback is sent beside the usual headers is what the page names', async () => {
  const heard: IncomingHttpHeaders[] = []
  const receiver = createServer((request, response) => {
    heard.push(request.headers)
    request.resume()
    response.writeHead(204).end()
  })
  await new Promise<void>(resolve => receiver.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void receiver.close())
  const connector = createCallbackConnector({
    rules: addressRules({ allowLoopback: true }),
    allowHttps: false,
    names: { jobStarted: 'jobStarted', jobFinished: 'jobFinished' },
    secret: 'a secret of some length',
  })
  onTestFinished(() => connector.close())
  const { port } = receiver.address() as AddressInfo
  await connector.send(noticeMessage({ receiver: `http://127.0.0.1:${port}/` }), new AbortController().signal)
  const own = Object.keys(heard[0]!).filter(name => name.startsWith('webhook-'))
  expect(page.table('Headers of a callback').map(([name]) => codeIn(name!)[0])).toEqual(own)
  expect(own).toHaveLength(3)
})

test('its bounds and pauses are those of the code', () => {
  expect([GIVE_UP_AFTER_MS, PAUSES.longestMs, DELIVERIES_PER_RECEIVER]).toEqual([24 * 3_600_000, 3_600_000, 8])
  for (const words of [
    `at most ${CALLBACK_LENGTH_MAX.toLocaleString('en')} characters`,
    `after ${seconds(PAUSES.firstMs)} seconds, then after pauses that double up to an hour, for ${hours(GIVE_UP_AFTER_MS)} hours`,
    `An attempt has ${seconds(CALLBACK_ATTEMPT_MS)} seconds, ${seconds(CALLBACK_CONNECT_MS)} of them to connect`,
    'at most eight deliveries are under way at once',
    `as ${TOLD_BYTES_MAX.toLocaleString('en')} bytes hold`,
    `for another ${hours(GIVE_UP_AFTER_MS)} hours`,
  ]) {
    expect(page.words).toContain(words)
  }
})

test('the log is asked for as the page says', async () => {
  const { paths } = await interfaceDocument()
  const deliveries = Object.entries(paths).filter(([path]) => path.startsWith('/north/v80/deliveries'))
  expect(deliveries.flatMap(([path, item]) => Object.keys(item).map(method => `${method} ${path}`)).toSorted()).toEqual(
    [
      'get /north/v80/deliveries',
      'get /north/v80/deliveries/{deliveryId}',
      'post /north/v80/deliveries/{deliveryId}/repeat',
    ],
  )
  const asked = /`GET \/north\/v80\/deliveries\?([^`]+)`/.exec(page.words)![1]!.split('&')
  expect(asked.map(each => each.replace('=', '')).toSorted()).toEqual(
    Object.keys(DeliveriesQuery.properties).toSorted(),
  )
  for (const state of DELIVERY_STATES) expect(page.words).toContain(`\`${state}\``)
})

test('every variable of notifications is on the page, and it names none that there is not', () => {
  const named = codeIn(page.words).filter(code => /^DROVER_\w+$/.test(code))
  expect(unknownVariables(Object.fromEntries(named.map(name => [name, ''])))).toEqual([])
  const wanted = Object.values(notificationVariables).map(({ name }) => name)
  expect(wanted.filter(name => !named.includes(name))).toEqual([])
})
