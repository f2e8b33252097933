/** What becomes of a request whose connection is closed by the other side at the moment at which it leaves. */
import { createServer, type Socket } from 'node:net'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { addressRules } from '../../src/connectors/address-guard.ts'
import { createCallbackConnector } from '../../src/connectors/callback.ts'
import { connector } from './http-connector.ts'
import { listen } from './http-devices.ts'
import { bookReports, request } from './requests.ts'

const YES = 'HTTP/1.1 201 Created\r\ncontent-length: 0\r\n\r\n'

interface Closing {
  readonly url: string
  /** how often each connection, in the order of their making, was asked */
  readonly asked: number[]
}

/** A device that does with each request on each connection as told. */
async function device(
  behave: (socket: Socket, nth: { connection: number; request: number }) => void,
): Promise<Closing> {
  const asked: number[] = []
  const url = await listen(
    createServer(socket => {
      const connection = asked.push(0) - 1
      let buffered = ''
      socket.on('error', () => {})
      socket.on('data', data => {
        buffered += data.toString()
        const length = /content-length: (\d+)\r\n/i.exec(buffered)?.[1]
        const [, body] = buffered.split('\r\n\r\n')
        if (length === undefined || body === undefined || body.length < Number(length)) return
        buffered = ''
        asked[connection]! += 1
        behave(socket, { connection, request: asked[connection]! - 1 })
      })
    }),
  )
  return { url, asked }
}

const sum = (counts: readonly number[]) => counts.reduce((all, count) => all + count, 0)

/** Closes a connection as soon as it is used for the second time, as one does that had been closed a moment before. */
const closesUsed = (socket: Socket, { request: nth }: { request: number }) =>
  nth === 0 ? socket.write(YES) : socket.destroy()

describe('a request on a connection that was kept', () => {
  test('is sent once more where the device closed it without an answer, and is told of as one', async () => {
    const { url, asked } = await device(closesUsed)
    const made = connector({ exchangesPerHostMax: 1 })
    const reports = bookReports()
    for (const one of Array.from({ length: 5 }, () => request({ url }))) {
      reports.send(made, [one])
      expect((await reports.until(2, one)).map(({ seen }) => seen)).toEqual(['sent', 'answered'])
      expect(reports.of(one)).toHaveLength(2)
    }
    expect([asked[0], sum(asked)]).toEqual([2, 6])
  })

  test('is sent no third time: two that break in a row say that the device is not there', async () => {
    const { url, asked } = await device((socket, { connection }) =>
      connection === 0 && asked[0] === 1 ? socket.write(YES) : socket.destroy(),
    )
    const made = connector({ exchangesPerHostMax: 1 })
    const reports = bookReports()
    const [first, second] = [request({ url }), request({ url })]
    reports.send(made, [first])
    await reports.until(2, first)
    reports.send(made, [second])
    expect((await reports.until(2, second)).map(({ seen }) => seen)).toEqual(['sent', 'unreachable'])
    expect(asked).toEqual([2, 1])
  })

  test('is not sent again where an answer had begun', async () => {
    const { url, asked } = await device((socket, { request: nth }) =>
      nth === 0
        ? socket.write(YES)
        : socket.write('HTTP/1.1 201 Created\r\ncontent-length: 100\r\n\r\n{"op', () => socket.resetAndDestroy()),
    )
    const made = connector({ exchangesPerHostMax: 1 })
    const reports = bookReports()
    const [first, second] = [request({ url }), request({ url })]
    reports.send(made, [first])
    await reports.until(2, first)
    reports.send(made, [second])
    expect((await reports.until(2, second)).map(({ seen }) => seen)).toEqual(['sent', 'answered'])
    expect(asked).toEqual([2])
  })

  test.for([1_500, 2_500])(
    'is not sent again where it broke only after %i ms, and may not leave so late',
    async lateMs => {
      const now = vi.spyOn(performance, 'now').mockReturnValue(10_000)
      onTestFinished(() => now.mockRestore())
      const { url, asked } = await device((socket, nth) => {
        if (nth.request === 1) now.mockReturnValue(10_000 + lateMs)
        closesUsed(socket, nth)
      })
      const made = connector({ exchangesPerHostMax: 1, sendMs: 1_000 })
      const reports = bookReports()
      const [first, second] = [request({ url }), request({ url })]
      reports.send(made, [first])
      await reports.until(2, first)
      reports.send(made, [second])
      expect((await reports.until(2, second)).map(({ seen }) => seen)).toEqual(['sent', 'unreachable'])
      await made.stop(5_000)
      expect(asked[0]).toBe(2)
      expect(asked[1] ?? 0).toBe(0)
    },
  )
})

test('a callback on such a connection arrives, too', async () => {
  const { url, asked } = await device(closesUsed)
  const { send, close } = createCallbackConnector({
    rules: addressRules({ allowLoopback: true }),
    allowHttps: false,
    names: { jobStarted: 'jobStarted', jobFinished: 'jobFinished' },
    secret: null,
  })
  onTestFinished(close)
  const message = { id: 'd', organization: 1, job: 1n, receiver: url, body: '{}', at: new Date() }
  const never = new AbortController().signal
  for (let k = 0; k < 3; k += 1)
    expect(await send({ ...message, event: 'jobStarted' }, never)).toMatchObject({ taken: true })
  expect([asked[0], sum(asked)]).toEqual([2, 4])
})
