/**
 * The way out to devices that listen on HTTP. Every host has its own small share of the connections and its own short queue, so that
 * one slow or hostile device never slows the others. It decides nothing about an operation; it reports.
 */
import { getCACertificates } from 'node:tls'
import { Agent } from 'undici'
import type { Connector, OperationRequest, SendReport } from '../engine/connector.ts'
import { type AddressRules, guardedLookup, judgeHost } from './address-guard.ts'
import { DEVICE_URL_TEMPLATE, deviceUrl } from './device-url.ts'
import { exchange, UNREACHABLE_IN_TIME } from './http-exchange.ts'

/** Bounds and rules of HTTP push. */
export interface HttpSettings {
  readonly addresses: AddressRules
  /** exchanges open at once, over all hosts */
  readonly exchangesMax?: number
  /** exchanges open at once with one host and port */
  readonly exchangesPerHostMax?: number
  /** requests that wait for their turn at one host */
  readonly waitingPerHostMax?: number
  /** a request that has waited longer for its turn is not sent */
  readonly waitMs?: number
  /** a request that has not left after this, its wait included, is not sent: nothing may leave later after a pause or cancel */
  readonly sendMs?: number
  readonly bodyMs?: number
  readonly bodyBytesMax?: number
  /** an idle connection is kept this long, ms; short, since a device may close it at the moment of the next request */
  readonly idleMs?: number
  /** where a device is reached that has an address and no URL */
  readonly urlTemplate?: string
  /** certificates (PEM) that are trusted beside the system's */
  readonly certificates?: readonly string[]
}

type Report = (request: OperationRequest, report: SendReport) => void

interface Waiting {
  readonly request: OperationRequest
  readonly url: URL
  readonly report: Report
  /** on the monotonic clock, ms */
  readonly since: number
}

interface Host {
  readonly origin: string
  open: number
  readonly waiting: Waiting[]
  /** stands in the round of hosts that may begin an exchange */
  inTurn: boolean
}

/** Makes the HTTP connector. Serves: Device-side exchange flows (platform-driven). */
export function httpConnector(settings: HttpSettings): Connector {
  const {
    addresses,
    exchangesMax = 4096,
    exchangesPerHostMax = 256,
    waitingPerHostMax = 256,
    waitMs = 1000,
    sendMs = 2000,
    bodyMs = 30_000,
    bodyBytesMax = 262_144,
    idleMs = 1000,
    urlTemplate = DEVICE_URL_TEMPLATE,
    certificates = [],
  } = settings
  const agent = new Agent({
    connections: exchangesPerHostMax,
    pipelining: 1,
    keepAliveTimeout: idleMs,
    keepAliveMaxTimeout: 30_000,
    connect: {
      timeout: sendMs,
      lookup: guardedLookup(addresses),
      ...(certificates.length > 0 && { ca: [...getCACertificates(), ...certificates] }),
    },
  })
  const hosts = new Map<string, Host>()
  const turn: Host[] = []
  let open = 0
  let stopping = false
  let stopped = false
  let idle: (() => void) | undefined

  function enter(host: Host): void {
    if (host.inTurn || host.waiting.length === 0 || host.open >= exchangesPerHostMax) return
    host.inTurn = true
    turn.push(host)
  }

  function forgetIdle(host: Host): void {
    if (host.open === 0 && host.waiting.length === 0 && !host.inTurn) hosts.delete(host.origin)
  }

  /** Begins exchanges while there is room, one host after the other. */
  function proceed(): void {
    while (open < exchangesMax) {
      const host = turn.shift()
      if (host === undefined) return
      host.inTurn = false
      dropStale(host.waiting, performance.now() - waitMs)
      const next = host.waiting.shift()
      if (next !== undefined) begin(host, next)
      enter(host)
      forgetIdle(host)
    }
  }

  function begin(host: Host, { request, url, report, since }: Waiting): void {
    open += 1
    host.open += 1
    const tell = (told: SendReport) => {
      if (!stopped) report(request, told)
    }
    const ended = () => {
      open -= 1
      host.open -= 1
      enter(host)
      forgetIdle(host)
      proceed()
      if (open === 0) idle?.()
    }
    const waited = performance.now() - since
    // Only a device that had its full time to accept the connection is known not to.
    const late: SendReport = waited < sendMs / 10 ? UNREACHABLE_IN_TIME : { seen: 'notSent' }
    exchange(agent, url, request, { sendMs: sendMs - waited, late, bodyMs, bodyBytesMax }, tell, ended)
  }

  function refuse(request: OperationRequest, report: Report, description: string): void {
    queueMicrotask(() => report(request, { seen: 'unreachable', description }))
  }

  return {
    flow: 'http',
    capacity: () => (stopping ? 0 : Math.max(0, exchangesMax - open)),
    send(requests, report) {
      if (stopping) return
      const since = performance.now()
      for (const request of requests) {
        const target = deviceUrl(request.device, urlTemplate)
        if ('fault' in target) {
          refuse(request, report, target.fault)
          continue
        }
        const reason = judgeHost(target.url.hostname, addresses)
        if (reason !== undefined) {
          refuse(request, report, `the address of the device is not allowed: ${reason}`)
          continue
        }
        const { origin } = target.url
        const host = hosts.get(origin) ?? { origin, open: 0, waiting: [], inTurn: false }
        if (host.waiting.length >= waitingPerHostMax) dropStale(host.waiting, since - waitMs)
        if (host.waiting.length >= waitingPerHostMax) {
          queueMicrotask(() => report(request, { seen: 'notSent' }))
          continue
        }
        hosts.set(origin, host)
        host.waiting.push({ request, url: target.url, report, since })
        enter(host)
        proceed()
      }
    },
    async stop(graceMs) {
      stopping = true
      for (const host of hosts.values()) dropStale(host.waiting, Number.POSITIVE_INFINITY)
      if (open > 0) {
        const { promise, resolve } = Promise.withResolvers<void>()
        idle = resolve
        const timer = setTimeout(resolve, graceMs)
        await promise
        clearTimeout(timer)
      }
      stopped = true
      await agent.destroy()
    },
  }
}

/** Gives up what has waited since before `oldest`. The longest waiting stand first. */
function dropStale(waiting: Waiting[], oldest: number): void {
  const fresh = waiting.findIndex(({ since }) => since >= oldest)
  const stale = waiting.splice(0, fresh < 0 ? waiting.length : fresh)
  for (const { request, report } of stale) report(request, { seen: 'notSent' })
}
