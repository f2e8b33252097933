/** Devices whose URL holds a host name: looked up in fair shares, judged, and connected to at the address that was judged. */
import { expect, onTestFinished, test, vi } from 'vitest'
import { addressRules } from '../../src/connectors/address-guard.ts'
import { createCallbackConnector } from '../../src/connectors/callback.ts'
import { createNameService, type NameServiceSettings } from '../../src/connectors/name-service.ts'
import { createCallbackReceiver } from '../callback-receiver.ts'
import { noticeMessage } from '../job-notice.ts'
import { nameServer, type Said } from '../name-server.ts'
import { connector, exchangeWith } from './http-connector.ts'
import { httpDevice } from './http-devices.ts'
import { bookReports, request } from './requests.ts'

const say = (name: string): Said => (name.startsWith('silent') ? 'silent' : ['127.0.0.1'])
const LONG_MS = 60_000
const named = (url: string, name: string) => url.replace('127.0.0.1', name)
const polite = () => httpDevice((_received, response) => response.writeHead(201).end())

async function namesFrom(saying: (name: string) => Said, settings: Partial<NameServiceSettings> = {}) {
  const server = await nameServer(saying)
  const servers = [server.address]
  return { server, nameService: createNameService({ servers, answerMs: LONG_MS, turnMs: LONG_MS, ...settings }) }
}

test('devices whose names no name server answers for hold up none of the others', async () => {
  const url = await polite()
  const { server, nameService } = await namesFrom(say)
  const made = connector({ nameService, sendMs: LONG_MS })
  const reports = bookReports()
  const silent = Array.from({ length: 30 }, (_, k) => request({ url: named(url, `silent-${k}.test`) }))
  reports.send(made, silent)
  await vi.waitUntil(() => new Set(server.asked).size === 30, { timeout: 45_000 })
  for (const organization of [1, 2]) {
    const other = request({ url: named(url, `pump-${organization}.test`), organization })
    reports.send(made, [other])
    expect((await reports.until(2, other)).map(({ seen }) => seen)).toEqual(['sent', 'answered'])
  }
  expect(silent.flatMap(reports.of)).toEqual([])
})

test('a device whose name is not answered for is unreachable; one that has no turn to be looked up is not sent', async () => {
  const { nameService } = await namesFrom(say, { answerMs: 200 })
  expect(await exchangeWith('http://silent.test:1/', 1, { nameService, sendMs: LONG_MS })).toEqual([
    { seen: 'unreachable', description: 'no name server answered for silent.test in time' },
  ])
  const busy = await namesFrom(say, { lookupsMax: 1, turnMs: 200 })
  busy.nameService.find('silent.test', 1).catch(() => {})
  expect(await exchangeWith('http://pump.test:1/', 1, { nameService: busy.nameService, sendMs: LONG_MS })).toEqual([
    { seen: 'notSent' },
  ])
})

test('the address that was judged is the one connected to, whatever the name says a moment later', async () => {
  const url = await polite()
  const answers = [['127.0.0.1'], ['127.0.0.2'], ['127.0.0.2']]
  const { server, nameService } = await namesFrom(() => answers.shift() ?? 'silent')
  const addresses = addressRules({ allowLoopback: false, allowed: ['127.0.0.1'] })
  const reports = await exchangeWith(named(url, 'rebinding.test'), 2, { nameService, addresses })
  expect(reports.map(({ seen }) => seen)).toEqual(['sent', 'answered'])
  expect(server.asked).toEqual(['rebinding.test'])
  const refused = await namesFrom(() => ['127.0.0.2'])
  expect(await exchangeWith(named(url, 'inside.test'), 1, { nameService: refused.nameService, addresses })).toEqual([
    {
      seen: 'unreachable',
      description: 'the address of the device is not allowed: inside.test is 127.0.0.2, a loopback address',
    },
  ])
})

test('a receiver of callbacks whose name is not answered for holds up none of the others, and is told so', async () => {
  const receiver = await createCallbackReceiver()
  const { server, nameService } = await namesFrom(say, { lookupsMax: 8, answerMs: LONG_MS, turnMs: 300 })
  const { send, close } = createCallbackConnector({
    rules: addressRules({ allowLoopback: true }),
    nameService,
    allowHttps: false,
    names: { jobStarted: 'jobStarted', jobFinished: 'jobFinished' },
    secret: null,
    attemptMs: LONG_MS,
  })
  onTestFinished(close)
  const never = new AbortController().signal
  const to = (name: string, organization: number) =>
    send(noticeMessage({ receiver: named(receiver.url, name), organization }), never)
  const settled = vi.fn()
  const crowd = Array.from({ length: 4 }, (_, k) => to(`silent-${k}.test`, 1).then(settled))
  await vi.waitUntil(() => new Set(server.asked).size === 4, { timeout: 45_000 })
  expect(await to('receiver.test', 2)).toEqual({ taken: true, status: 200 })
  expect(await to('another.test', 1)).toEqual({
    taken: false,
    error: 'too many names are being looked up to ask for another.test',
  })
  expect(settled).not.toHaveBeenCalled()
  await close()
  await Promise.all(crowd)
  expect(settled).toHaveBeenCalledTimes(4)
})

test('a callback by a name is connected to at an address that was judged', async () => {
  const receiver = await createCallbackReceiver()
  const { nameService } = await namesFrom(() => ['127.0.0.1'])
  const { send, close } = createCallbackConnector({
    rules: addressRules({ allowLoopback: false }),
    nameService,
    allowHttps: false,
    names: { jobStarted: 'jobStarted', jobFinished: 'jobFinished' },
    secret: null,
  })
  onTestFinished(close)
  const message = noticeMessage({ receiver: named(receiver.url, 'inside.test') })
  expect(await send(message, new AbortController().signal)).toEqual({
    taken: false,
    error: 'the address is not allowed: inside.test is 127.0.0.1, a loopback address',
  })
  expect(receiver.heard).toEqual([])
})
