/**
 * Outgoing HTTP in fair shares: every host has its own small share of the connections and its own short queue, and every organization
 * and job its share of all, so that neither one slow or hostile device nor thousands of silent ones slow the others. It knows neither
 * operations nor messages.
 */
import { Agent, Pool } from 'undici'
import { type PlaceOwner, sharedPlaces } from '../domain/places.ts'
import type { HeldExchange } from '../engine/connector.ts'
import { type AddressRules, guardedLookup, judgeHost } from './address-guard.ts'
import { exchange, type HttpRequest, type HttpWord, UNREACHABLE_IN_TIME } from './http-exchange.ts'
import { keptConnection } from './kept-connection.ts'
import { createNameService, type NameService } from './name-service.ts'
import { trusting } from './trusted-certificates.ts'

/** Bounds and rules of outgoing HTTP. */
export interface HttpHostsSettings {
  readonly addresses: AddressRules
  /** who finds the addresses of hosts */
  readonly nameService?: NameService
  /** exchanges open at once, over all hosts, and requests that wait for their host */
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
  /** of an answer that is read, also when it is unpacked */
  readonly bodyBytesMax?: number
  /** an idle connection is kept this long, ms; short, since a device may close it at the moment of the next request */
  readonly idleMs?: number
  /** certificates (PEM) that are trusted beside the system's */
  readonly certificates?: readonly string[]
}

/** An HTTP request, for whom it is sent, and for which launch. */
export type OwnedRequest = HttpRequest & { readonly owner: PlaceOwner; readonly launch: HeldExchange }

/** The way out that all who speak HTTP to devices share. */
export interface HttpHosts {
  /** places that nobody has */
  capacity(): number
  /** What could be sent now, asked for one request after another, each yes counting for the next; of a host where one is known. */
  room(): (owner: PlaceOwner, url?: URL) => boolean
  /** Sends a request when its host has room, and tells what becomes of it; it is not sent where its owner has no share left. */
  send(request: OwnedRequest, tell: (word: HttpWord) => void): void
  /** What has been open for longer than this and counts for its owner, the longest first. */
  held(longerThanMs: number): HeldExchange[]
  /**
   * Gives the places of exchanges back, whose operations are over. They stay open for an answer that comes late, as many as there are
   * exchanges; one ends before its time where its host or a later one needs its connection.
   */
  release(launches: readonly HeldExchange[]): void
  /** Takes no more, waits for what is under way at most `graceMs`; nothing is told after it. Idempotent. */
  stop(graceMs: number): Promise<void>
}

interface Waiting {
  readonly request: OwnedRequest
  readonly tell: (word: HttpWord) => void
  /** on the monotonic clock, ms */
  readonly since: number
}

/** An exchange that has begun. */
interface Exchange {
  readonly launch: HeldExchange
  readonly since: number
  readonly host: Host
  /** gives its place back once, whether it was released or has ended */
  readonly leave: () => void
  abandon: () => void
}

interface Host {
  readonly origin: string
  /** exchanges that count for nobody any more, the one released first in front */
  readonly released: Set<Exchange>
  /** the organization of the request that was begun last: its name is looked up for it */
  asker: number
  open: number
  readonly waiting: Waiting[]
  /** something waited too long: until an exchange ends, nothing more waits here */
  stuck: boolean
  /** runs while requests wait, to when the first of them has waited too long */
  timer: NodeJS.Timeout | undefined
}

/** Opens the way out. */
export function httpHosts(settings: HttpHostsSettings): HttpHosts {
  const {
    addresses,
    nameService = createNameService(),
    exchangesMax = 4096,
    exchangesPerHostMax = 256,
    waitingPerHostMax = 1000,
    waitMs = 1000,
    sendMs = 2000,
    bodyMs = 30_000,
    bodyBytesMax = 307_200,
    idleMs = 1000,
    certificates = [],
  } = settings
  const trusted = trusting(certificates)
  const connectTo = (origin: string) => ({
    timeout: sendMs,
    lookup: guardedLookup(addresses, name => nameService.find(name, hosts.get(origin)?.asker ?? 0)),
    ...trusted,
  })
  const agent = new Agent({
    connections: exchangesPerHostMax,
    pipelining: 1,
    keepAliveTimeout: idleMs,
    keepAliveMaxTimeout: 30_000,
    factory: (origin, options) =>
      new Pool(origin, { ...options, connect: connectTo(String(origin)), factory: keptConnection }),
  })
  const hosts = new Map<string, Host>()
  const places = sharedPlaces(exchangesMax)
  const exchanges = new Map<string, Exchange>()
  /** of all hosts, the one released first in front */
  const released = new Set<Exchange>()
  let open = 0
  let stopping = false
  let stopped = false
  let idle: (() => void) | undefined

  function forgetIdle(host: Host): void {
    if (host.open > 0 || host.waiting.length > 0 || host.released.size > 0) return
    clearTimeout(host.timer)
    hosts.delete(host.origin)
  }

  /** Whether the host takes one more beside what is open, what waits, and so many asked for. */
  function hasRoom(host: Host | undefined, asked: number): boolean {
    if (host === undefined) return asked < exchangesPerHostMax + waitingPerHostMax
    const most = exchangesPerHostMax + (host.stuck ? 0 : waitingPerHostMax)
    return host.open + host.waiting.length + asked < most
  }

  /** Begins exchanges while the host has room for them. */
  function proceed(host: Host): void {
    dropStale(host, waitMs)
    while (host.open < exchangesPerHostMax) {
      const next = host.waiting.shift()
      if (next === undefined) break
      begin(host, next)
    }
    forgetIdle(host)
  }

  /** Gives up what has waited longer than so many milliseconds. The longest waiting stand first. */
  function dropStale(host: Host, ms: number): void {
    const oldest = performance.now() - ms
    const fresh = host.waiting.findIndex(({ since }) => since >= oldest)
    const stale = host.waiting.splice(0, fresh < 0 ? host.waiting.length : fresh)
    if (stale.length > 0) host.stuck = true
    for (const { request, tell } of stale) {
      places.leave(request.owner)
      tell({ seen: 'notSent' })
    }
  }

  /** What waits longer than it may is given up, whether or not the host ever has room again. */
  function watch(host: Host): void {
    const first = host.waiting[0]
    if (host.timer !== undefined || first === undefined) return
    const leftMs = first.since + waitMs - performance.now()
    host.timer = setTimeout(() => {
      host.timer = undefined
      dropStale(host, waitMs)
      watch(host)
      forgetIdle(host)
    }, Math.max(0, leftMs) + 1)
  }

  function begin(host: Host, { request, tell, since }: Waiting): void {
    open += 1
    host.open += 1
    host.asker = request.owner.organization
    makeWay(host.released, host.open + host.released.size - exchangesPerHostMax)
    const text = launchText(request.launch)
    let counted = true
    const leave = () => {
      if (!counted) return
      counted = false
      host.open -= 1
      places.leave(request.owner)
    }
    const begun: Exchange = { launch: request.launch, since: performance.now(), host, leave, abandon: () => {} }
    exchanges.set(text, begun)
    const ended = () => {
      open -= 1
      leave()
      released.delete(begun)
      host.released.delete(begun)
      if (exchanges.get(text) === begun) exchanges.delete(text)
      proceed(host)
      host.stuck = false
      if (open === 0) idle?.()
    }
    const waited = performance.now() - since
    // Only a device that had its full time to accept the connection is known not to.
    const late: HttpWord = waited < sendMs / 10 ? UNREACHABLE_IN_TIME : { seen: 'notSent' }
    begun.abandon = exchange(agent, request, { sendMs: sendMs - waited, late, bodyMs, bodyBytesMax }, tell, ended)
  }

  /** Ends so many of the exchanges that count for nobody any more. */
  function makeWay(those: ReadonlySet<Exchange>, count: number): void {
    for (const each of [...those].slice(0, Math.max(0, count))) each.abandon()
  }

  function release(launches: readonly HeldExchange[]): void {
    for (const launch of launches) {
      const begun = exchanges.get(launchText(launch))
      if (begun === undefined || released.has(begun)) continue
      begun.leave()
      released.add(begun)
      begun.host.released.add(begun)
      proceed(begun.host)
      begun.host.stuck = false
    }
    makeWay(released, released.size - exchangesMax)
  }

  return {
    capacity: () => (stopping ? 0 : places.free()),
    room() {
      if (stopping) return () => false
      const mayTake = places.trial()
      const asked = new Map<string, number>()
      return (owner, url) => {
        if (url === undefined) return mayTake(owner)
        const { origin } = url
        const before = asked.get(origin) ?? 0
        if (!hasRoom(hosts.get(origin), before) || !mayTake(owner)) return false
        asked.set(origin, before + 1)
        return true
      }
    },
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
      const host = hosts.get(origin) ?? {
        origin,
        released: new Set(),
        asker: 0,
        open: 0,
        waiting: [],
        stuck: false,
        timer: undefined,
      }
      if (!hasRoom(host, 0) || !places.take(request.owner)) return queueMicrotask(() => tell({ seen: 'notSent' }))
      hosts.set(origin, host)
      host.waiting.push({ request, tell, since })
      proceed(host)
      watch(host)
    },
    held(longerThanMs) {
      const latest = performance.now() - longerThanMs
      return [...exchanges.values()]
        .filter(each => each.since <= latest && !released.has(each))
        .map(({ launch }) => launch)
    },
    release,
    async stop(graceMs) {
      stopping = true
      for (const host of hosts.values()) {
        clearTimeout(host.timer)
        dropStale(host, Number.NEGATIVE_INFINITY)
      }
      makeWay(released, released.size)
      if (open > 0) {
        const { promise, resolve } = Promise.withResolvers<void>()
        idle = resolve
        const timer = setTimeout(resolve, graceMs)
        await promise
        clearTimeout(timer)
      }
      stopped = true
      await agent.destroy()
      nameService.close()
    },
  }
}

const launchText = ({ key, launchedAt }: HeldExchange) => `${key.job}/${key.partition}/${key.entity}@${launchedAt}`
