import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { connector } from './http-connector.ts'
import { httpDevice, rawDevice } from './http-devices.ts'
import { bookReports, request } from './requests.ts'

describe('time and room', () => {
  test('a silent device is left when the exchange is over, and nothing more is reported', async () => {
    const left = Promise.withResolvers<void>()
    const url = await rawDevice(socket => socket.on('close', () => left.resolve()))
    const reports = bookReports()
    const made = connector()
    reports.send(made, [request({ url }, { exchangeMs: 40 })])
    await left.promise
    expect(reports.of(request())).toEqual([])
    expect(reports.all.map(({ report }) => report)).toEqual([{ seen: 'sent' }])
    await made.stop(1000)
    expect(made.capacity()).toBe(0)
  })

  test('a device that sends its headers byte by byte is left when the exchange is over', async () => {
    const left = Promise.withResolvers<void>()
    const url = await rawDevice(socket => {
      const [first = '', ...rest] = `HTTP/1.1 200 OK\r\nx: ${'y'.repeat(10_000)}`
      socket.write(first)
      const drip = setInterval(() => socket.write(rest.shift() ?? ''), 5)
      socket.on('close', () => {
        clearInterval(drip)
        left.resolve()
      })
    })
    const reports = bookReports()
    reports.send(connector(), [request({ url }, { exchangeMs: 60 })])
    await left.promise
    expect(reports.all.map(({ report }) => report)).toEqual([{ seen: 'sent' }])
  })

  test('a slow host fills its own share and leaves room for every other', async () => {
    const slow = await rawDevice(() => {})
    const quick = await httpDevice((_received, response) => response.writeHead(201).end())
    const made = connector({ exchangesMax: 60, exchangesPerHostMax: 4, waitingPerHostMax: 10, waitMs: 60_000 })
    const reports = bookReports()
    reports.send(
      made,
      Array.from({ length: 100 }, () => request({ url: slow })),
    )
    await reports.until(4 + 86)
    expect(made.capacity()).toBe(60 - 14)
    expect(reports.all.filter(({ report }) => report.seen === 'notSent').length).toBe(86)
    const others = Array.from({ length: 50 }, () => request({ url: quick, deviceId: 'quick' }))
    for (const other of others) {
      reports.send(made, [other])
      await reports.until(2, other)
    }
    expect(others.flatMap(other => reports.of(other).map(({ seen }) => seen)).sort()).toEqual([
      ...Array(50).fill('answered'),
      ...Array(50).fill('sent'),
    ])
    expect(reports.all.length).toBe(90 + 100)
  })

  test('a request that waited too long for its host is never sent', async () => {
    const arrived: string[] = []
    const release: (() => void)[] = []
    const firstArrived = Promise.withResolvers<void>()
    const second = Promise.withResolvers<void>()
    const url = await httpDevice((received, response) => {
      arrived.push(JSON.parse(received.body).operation.request.id)
      if (arrived.length === 1) {
        release.push(() => response.writeHead(201).end())
        firstArrived.resolve()
      } else {
        response.writeHead(201).end()
        second.resolve()
      }
    })
    const now = vi.spyOn(performance, 'now').mockReturnValue(10_000)
    onTestFinished(() => now.mockRestore())
    const made = connector({ exchangesPerHostMax: 1, waitMs: 1000 })
    const reports = bookReports()
    const [held, stale, fresh] = [request({ url }), request({ url }), request({ url })]
    reports.send(made, [held, stale])
    await firstArrived.promise
    now.mockReturnValue(11_001)
    release[0]?.()
    await reports.until(2, held)
    reports.send(made, [fresh])
    await second.promise
    expect(arrived).toEqual([held.id, fresh.id])
    expect(reports.of(stale)).toEqual([{ seen: 'notSent' }])
  })

  test('a request that waits is given up in time though its host never has room again', async () => {
    const url = await rawDevice(() => {})
    const made = connector({ exchangesPerHostMax: 1, waitMs: 30 })
    const reports = bookReports()
    const [held, waiting] = [request({ url }), request({ url })]
    reports.send(made, [held, waiting])
    expect(await reports.until(1, waiting)).toEqual([{ seen: 'notSent' }])
    expect(reports.of(held).map(({ seen }) => seen)).toEqual(['sent'])
  })

  test('the connection is kept and used again', async () => {
    const ports = new Set<unknown>()
    const url = await httpDevice((received, response) => {
      ports.add(received.port)
      response.writeHead(201).end()
    })
    const made = connector()
    const reports = bookReports()
    for (const asked of Array.from({ length: 10 }, () => request({ url }))) {
      reports.send(made, [asked])
      await reports.until(2, asked)
    }
    // The answer is told before its connection is free again, so that a second one may be opened beside it.
    expect(ports.size).toBeLessThanOrEqual(2)
  })

  test('stop waits for what is under way, takes nothing more, and reports nothing after it', async () => {
    const held: (() => void)[] = []
    const arrived = Promise.withResolvers<void>()
    const url = await httpDevice((_received, response) => {
      held.push(() => response.writeHead(201).end())
      arrived.resolve()
    })
    const made = connector()
    const reports = bookReports()
    const asked = request({ url })
    reports.send(made, [asked])
    await arrived.promise
    const stopped = made.stop(10_000)
    reports.send(made, [request({ url })])
    held[0]?.()
    await stopped
    expect(reports.all.map(({ id, report }) => [id === asked.id, report.seen])).toEqual([
      [true, 'sent'],
      [false, 'notSent'],
      [true, 'answered'],
    ])

    const silent = await rawDevice(() => {})
    const hasty = connector()
    const quiet = bookReports()
    quiet.send(hasty, [request({ url: silent })])
    await quiet.until(1)
    await hasty.stop(10)
    expect(quiet.all.map(({ report }) => report.seen)).toEqual(['sent'])
  })

  test('two thousand requests, half of them to hosts that are gone, are all told within the bounds', async () => {
    let [open, most] = [0, 0]
    const url = await httpDevice((_received, response) => {
      open += 1
      most = Math.max(most, open)
      setImmediate(() => {
        open -= 1
        response.writeHead(201).end()
      })
    })
    const { port } = new URL(url)
    const hosts = Array.from({ length: 2000 }, (_, k) => `http://127.0.${1 + (k >> 8)}.${1 + (k & 127)}:${port}/`)
    // Only 127.0.0.1 is listened on: the many hosts refuse, the one answers, and all are told.
    const made = connector({ exchangesMax: 200, exchangesPerHostMax: 64 })
    const reports = bookReports()
    const asked = hosts.map((other, k) => request({ url: k % 2 === 0 ? url : other }, { exchangeMs: 20_000 }))
    for (let k = 0; k < asked.length; k += 100) {
      const batch = asked.slice(k, k + 100)
      reports.send(made, batch)
      await Promise.all(batch.map(one => reports.until(1, one)))
    }
    expect(most).toBeLessThanOrEqual(64)
    expect(asked.every(one => reports.of(one).length > 0)).toBe(true)
  })
})
