/** Many devices that take a request and stay silent: what they hold is theirs, and never what others need. */
import { afterAll, describe, expect, test, vi } from 'vitest'
import { addressRules } from '../../src/connectors/address-guard.ts'
import { httpConnector } from '../../src/connectors/http.ts'
import { type HttpHostsSettings, httpHosts } from '../../src/connectors/http-hosts.ts'
import type { OperationRequest } from '../../src/engine/connector.ts'
import { httpDevice, rawDevice } from './http-devices.ts'
import { bookReports, request } from './requests.ts'

const addresses = addressRules({ allowLoopback: true })

function connector(settings: Partial<HttpHostsSettings> = {}) {
  const made = httpConnector(httpHosts({ addresses, ...settings }))
  afterAll(() => made.stop(0))
  return made
}

/** A request of a job to a device; every number a host of its own, where the URL leads to one that listens on all of loopback. */
function ofJob(job: bigint, organization: number, url: string, host = 0): OperationRequest {
  const own = url.replace('127.0.0.1', `127.0.${1 + (host >> 7)}.${1 + (host & 127)}`)
  const asked = request({ url: host === 0 ? url : own, organization })
  return { ...asked, key: { ...asked.key, job } }
}

const silentHosts = (job: bigint, organization: number, url: string, count: number) =>
  Array.from({ length: count }, (_, k) => ofJob(job, organization, url, k + 1))

describe('with more silent devices than there are exchanges', () => {
  test('another organization and another job of the same one are served at once', async () => {
    const silent = await rawDevice(() => {}, '0.0.0.0')
    const quick = await httpDevice((_received, response) => response.writeHead(201).end())
    const made = connector({ exchangesMax: 90 })
    const reports = bookReports()
    const hogs = silentHosts(1n, 1, silent, 100)
    reports.send(made, hogs)
    await reports.until(100)
    expect(reports.all.filter(({ report }) => report.seen === 'sent')).toHaveLength(30)
    expect(reports.all.filter(({ report }) => report.seen === 'notSent')).toHaveLength(70)
    for (const [job, organization] of [
      [2n, 1],
      [3n, 2],
    ] as const) {
      const others = Array.from({ length: 10 }, () => ofJob(job, organization, quick))
      reports.send(made, others)
      for (const other of others) {
        expect((await reports.until(2, other)).map(({ seen }) => seen)).toEqual(['sent', 'answered'])
      }
    }
  })

  test('what has no room is known beforehand: its host, its job and its organization', async () => {
    const silent = await rawDevice(() => {}, '0.0.0.0')
    const made = connector({ exchangesMax: 60, exchangesPerHostMax: 2, waitingPerHostMax: 1 })
    const reports = bookReports()
    const hasRoom = made.room!()
    const crowd = silentHosts(1n, 1, silent, 40)
    expect(crowd.filter(hasRoom)).toHaveLength(20)
    // Asking keeps nothing: what is asked anew has the same room.
    expect(crowd.filter(made.room!())).toHaveLength(20)
    reports.send(made, crowd.slice(0, 20))
    await reports.until(20)
    const now = made.room!()
    expect(now(ofJob(1n, 1, silent, 300))).toBe(false)
    expect(now(ofJob(2n, 1, silent, 300))).toBe(true)
    const hostOnly = made.room!()
    const sameHost = Array.from({ length: 5 }, () => ofJob(3n, 2, silent, 301))
    expect(sameHost.filter(hostOnly)).toHaveLength(3)
  })

  test('at one host, what waited in vain makes nothing more wait there until it answers', async () => {
    const answers: (() => void)[] = []
    const url = await httpDevice((_received, response) => answers.push(() => response.writeHead(201).end()))
    const made = connector({ exchangesPerHostMax: 1, waitingPerHostMax: 4, waitMs: 30 })
    const reports = bookReports()
    const [held, waiting, next] = [ofJob(1n, 1, url), ofJob(1n, 1, url), ofJob(1n, 1, url)]
    expect(made.room!()(next)).toBe(true)
    reports.send(made, [held, waiting])
    expect(await reports.until(1, waiting)).toEqual([{ seen: 'notSent' }])
    expect(made.room!()(next)).toBe(false)
    await vi.waitUntil(() => answers.length === 1, { timeout: 45_000 })
    answers[0]!()
    await reports.until(2, held)
    await vi.waitUntil(() => made.room!()(next), { timeout: 45_000 })
  })

  test('the places come back when the exchanges are over', async () => {
    const silent = await rawDevice(() => {}, '0.0.0.0')
    const made = connector({ exchangesMax: 30 })
    const reports = bookReports()
    const hogs = silentHosts(1n, 1, silent, 10).map(each => ({ ...each, exchangeMs: 50 }))
    reports.send(made, hogs)
    await vi.waitUntil(() => made.capacity() === 20, { timeout: 45_000 })
    await vi.waitUntil(() => made.capacity() === 30, { timeout: 45_000 })
    expect(hogs.filter(made.room!())).toHaveLength(10)
  })

  test('the places of operations that are over come back at once, and a late answer is heard still', async () => {
    const answers: (() => void)[] = []
    const url = await httpDevice((_received, response) => answers.push(() => response.writeHead(201).end()))
    const made = connector({ exchangesMax: 30 })
    const reports = bookReports()
    const hogs = Array.from({ length: 10 }, () => ofJob(1n, 1, url))
    reports.send(made, hogs)
    await vi.waitUntil(() => answers.length === 10, { timeout: 45_000 })
    expect(hogs.filter(made.room!())).toHaveLength(0)
    expect(made.held!(3_600_000)).toEqual([])
    expect(made.held!(0)).toHaveLength(10)
    made.release!(made.held!(0))
    expect([made.capacity(), made.held!(0).length]).toEqual([30, 0])
    expect(hogs.filter(made.room!())).toHaveLength(10)
    for (const answer of answers) answer()
    for (const hog of hogs) expect((await reports.until(2, hog)).map(({ seen }) => seen)).toEqual(['sent', 'answered'])
    expect(made.capacity()).toBe(30)
  })

  test('what is open for operations that are over ends where its host has no connection left', async () => {
    const [asked, closed] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    let silent = true
    const url = await httpDevice((_received, response) => {
      if (silent) {
        silent = false
        response.once('close', closed.resolve)
        asked.resolve()
      } else response.writeHead(201).end()
    })
    const made = connector({ exchangesPerHostMax: 1, waitMs: 45_000 })
    const reports = bookReports()
    const [over, next] = [ofJob(1n, 1, url), ofJob(2n, 1, url)]
    reports.send(made, [over])
    await asked.promise
    reports.send(made, [next])
    made.release!([over])
    expect((await reports.until(2, next)).map(({ seen }) => seen)).toEqual(['sent', 'answered'])
    await closed.promise
    expect(reports.of(over)).toEqual([{ seen: 'sent' }])
  })
})
