/**
 * Outgoing HTTP in fair shares: every host has its own small share of the connections and its own short queue, so that one slow or
 * hostile device never slows the others. It knows neither operations nor messages.
 */
import { getCACertificates } from 'node:tls'
import { Agent } from 'undici'
import { type AddressRules, guardedLookup, judgeHost } from './address-guard.ts'
import { exchange, type HttpRequest, type HttpWord, UNREACHABLE_IN_TIME } from './http-exchange.ts'

/** Bounds and rules of outgoing HTTP. */
export interface HttpHostsSettings {
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
  /** certificates (PEM) that are trusted beside the system's */
  readonly certificates?: readonly string[]
}

/** The way out that all who speak HTTP to devices share. */
export interface HttpHosts {
  /** exchanges that could begin now */
  capacity(): number
  /** Sends a request when its host has room, and tells what becomes of it. */
  send(request: HttpRequest, tell: (word: HttpWord) => void): void
  /** Takes no more, waits for what is under way at most `graceMs`; nothing is told after it. Idempotent. */
  stop(graceMs: number): Promise<void>
}

interface Waiting {
  readonly request: HttpRequest
  readonly tell: (word: HttpWord) => void
  /** on the monotonic clock, ms */
  readonly since: number
}

interface Host {
  readonly origin: string
  open: number
  readonly waiting: Waiting[]
  /** stands in the round of hosts that may begin an exchange */
  inTurn: boolean
  /** runs while requests wait, to when the first of them has waited too long */
  timer: NodeJS.Timeout | undefined
}

/** Opens the way out. */
export function httpHosts(settings: HttpHostsSettings): HttpHosts {
  const {
    addresses,
    exchangesMax = 4096,
    exchangesPerHostMax = 256,
    waitingPerHostMax = 1000,
    waitMs = 1000,
    sendMs = 2000,
    bodyMs = 30_000,
    bodyBytesMax = 262_144,
    idleMs = 1000,
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

  /** What waits longer than it may is given up, whether or not the host ever has room again. */
  function watch(host: Host): void {
    const first = host.waiting[0]
    if (host.timer !== undefined || first === undefined) return
    const leftMs = first.since + waitMs - performance.now()
    host.timer = setTimeout(() => {
      host.timer = undefined
      dropStale(host.waiting, performance.now() - waitMs)
      watch(host)
      forgetIdle(host)
    }, Math.max(0, leftMs) + 1)
  }

  function begin(host: Host, { request, tell, since }: Waiting): void {
    open += 1
    host.open += 1
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
    const late: HttpWord = waited < sendMs / 10 ? UNREACHABLE_IN_TIME : { seen: 'notSent' }
    exchange(agent, request, { sendMs: sendMs - waited, late, bodyMs, bodyBytesMax }, tell, ended)
  }

  return {
    capacity: () => (stopping ? 0 : Math.max(0, exchangesMax - open)),
    send(request, told) {
      const tell = (word: HttpWord) => {
        if (!stopped) told(word)
      }
      if (stopping) return queueMicrotask(() => tell({ seen: 'notSent' }))
      const reason = judgeHost(request.url.hostname, addresses)
      if (reason !== undefined) {
        const description = `the address of the device is not allowed: ${reason}`
        return queueMicrotask(() => tell({ seen: 'unreachable', description }))
      }
      const since = performance.now()
      const { origin } = request.url
      const host = hosts.get(origin) ?? { origin, open: 0, waiting: [], inTurn: false, timer: undefined }
      if (host.waiting.length >= waitingPerHostMax) return queueMicrotask(() => tell({ seen: 'notSent' }))
      hosts.set(origin, host)
      host.waiting.push({ request, tell, since })
      enter(host)
      proceed()
      watch(host)
    },
    async stop(graceMs) {
      stopping = true
      for (const host of hosts.values()) {
        clearTimeout(host.timer)
        dropStale(host.waiting, Number.POSITIVE_INFINITY)
      }
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
  for (const { tell } of stale) tell({ seen: 'notSent' })
}
