/**
 * The addresses of host names, asked of name servers so that one that never answers holds up nobody else: every asker has its share of
 * the look-ups under way, each has a time, and what was said is remembered for a moment. It uses none of the threads that the runtime
 * shares among everything, and refuses to judge an address.
 */
import type { LookupAddress } from 'node:dns'
import { Resolver } from 'node:dns/promises'
import { isIP } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  candidatesOf,
  NAME_FILES,
  type NameFiles,
  ownAddresses,
  type SystemNames,
  systemNames,
} from './system-names.ts'

/** Bounds of the look-ups, spans in ms. */
export interface NameServiceSettings {
  /** addresses of name servers, with a port where it is not 53; those of the system where it is empty */
  readonly servers?: readonly string[]
  readonly files?: NameFiles
  /** how long a name server has for its answer, and a name for its turn before that */
  readonly answerMs?: number
  readonly turnMs?: number
  /** look-ups under way, of which one asker has at most half */
  readonly lookupsMax?: number
  /** names that wait for their turn */
  readonly waitingMax?: number
}

export interface NameService {
  /**
   * The addresses of a name, or of an address itself, IPv4 first, at least one; for whom it is asked decides whose share it takes. Fails with a `NameNotFound`.
   */
  find(name: string, asker: number): Promise<readonly LookupAddress[]>
  /** What is under way fails. Idempotent. */
  close(): void
}

/** A name without an address. */
export class NameNotFound extends Error {
  override readonly name = 'NameNotFound'
  /** `NAME_SILENT`: nobody answered in time; `NAME_BUSY`: it was not asked, there was no turn; else what the name server said */
  readonly code: string

  constructor(code: string, message: string) {
    super(message)
    this.code = code
  }
}

/** A name that stands for other addresses from now on is found at the new ones this much later. */
const REMEMBERED_MS = 5_000
const REMEMBERED_MAX = 10_000
/** One family of addresses does not wait longer for the other: some name servers never say that there is none. */
const OTHER_FAMILY_MS = 50
const TRIES = 2

interface Lookup {
  readonly name: string
  readonly asker: number
  readonly found: PromiseWithResolvers<readonly LookupAddress[]>
  timer: NodeJS.Timeout | undefined
}

interface Asker {
  underWay: number
  waiting: Lookup[]
}

/** Makes a name service; nothing is read or opened before the first name. */
export function createNameService({
  servers = [],
  files = NAME_FILES,
  answerMs = 1_250,
  turnMs = 500,
  lookupsMax = 256,
  waitingMax = 8_192,
}: NameServiceSettings = {}): NameService {
  const readSystem = systemNames(files)
  const remembered = new Map<string, { readonly found: Promise<readonly LookupAddress[]>; readonly until: number }>()
  const asked = new Map<string, Promise<readonly LookupAddress[]>>()
  const askers = new Map<number, Asker>()
  let resolver: { readonly of: Resolver; readonly version: string } | undefined
  let underWay = 0
  let waiting = 0
  let closed = false

  /** One for all look-ups, so that it knows which server answers; another one once the system names others. */
  function resolverOf({ version }: SystemNames): Resolver {
    if (resolver?.version === version) return resolver.of
    const of = new Resolver({ timeout: Math.ceil(answerMs / (TRIES + 1)), tries: TRIES })
    if (servers.length > 0) of.setServers(servers)
    resolver = { of, version }
    return of
  }

  function remember(name: string, found: Promise<readonly LookupAddress[]>): void {
    remembered.delete(name)
    remembered.set(name, { found, until: performance.now() + REMEMBERED_MS })
    for (const oldest of remembered.keys()) {
      if (remembered.size <= REMEMBERED_MAX) break
      remembered.delete(oldest)
    }
  }

  function take({ asker, timer }: Lookup): void {
    clearTimeout(timer)
    waiting -= 1
    underWay += 1
    askers.get(asker)!.underWay += 1
  }

  /** Begins what waits, of whoever has fewest look-ups under way, while there is room. */
  function proceed(): void {
    while (underWay < lookupsMax) {
      let next: Asker | undefined
      for (const asker of askers.values()) {
        const mayHave = asker.waiting.length > 0 && asker.underWay < Math.ceil(lookupsMax / 2)
        if (mayHave && asker.underWay < (next?.underWay ?? Number.POSITIVE_INFINITY)) next = asker
      }
      const lookup = next?.waiting.shift()
      if (lookup === undefined) return
      take(lookup)
      void begin(lookup)
    }
  }

  /** Its place is taken until nothing of it is under way any more, however soon there was an answer. */
  async function begin(lookup: Lookup): Promise<void> {
    const { name, asker, found } = lookup
    const queries: Promise<unknown>[] = []
    const silent = setTimeout(
      () => found.reject(new NameNotFound('NAME_SILENT', `no name server answered for ${name} in time`)),
      answerMs,
    )
    await askServers(name, queries).then(found.resolve, found.reject)
    clearTimeout(silent)
    await Promise.allSettled(queries)
    underWay -= 1
    const of = askers.get(asker)!
    of.underWay -= 1
    if (of.underWay === 0 && of.waiting.length === 0) askers.delete(asker)
    proceed()
  }

  async function askServers(name: string, queries: Promise<unknown>[]): Promise<readonly LookupAddress[]> {
    const system = await readSystem()
    let failed: unknown
    for (const candidate of candidatesOf(name, system)) {
      try {
        return await addressesOf(resolverOf(system), candidate, queries)
      } catch (error) {
        failed = error
        if (!isUnknown(error)) break
      }
    }
    const code = codeOf(failed)
    if (code === 'ETIMEOUT') throw new NameNotFound('NAME_SILENT', `no name server answered for ${name} in time`)
    throw new NameNotFound(code, `the address of ${name} was not found (${code})`)
  }

  function enqueue(name: string, asker: number): Promise<readonly LookupAddress[]> {
    const found = Promise.withResolvers<readonly LookupAddress[]>()
    const busy = () =>
      found.reject(new NameNotFound('NAME_BUSY', `too many names are being looked up to ask for ${name}`))
    if (closed || waiting >= waitingMax) {
      busy()
      return found.promise
    }
    const of = askers.get(asker) ?? { underWay: 0, waiting: [] }
    askers.set(asker, of)
    const lookup: Lookup = { name, asker, found, timer: undefined }
    lookup.timer = setTimeout(() => {
      of.waiting = of.waiting.filter(each => each !== lookup)
      waiting -= 1
      if (of.underWay === 0 && of.waiting.length === 0) askers.delete(asker)
      busy()
    }, turnMs)
    waiting += 1
    of.waiting.push(lookup)
    proceed()
    return found.promise
  }

  return {
    async find(written, asker) {
      const family = isIP(written)
      if (family !== 0) return [{ address: written, family }]
      const name = written.toLowerCase()
      const own = ownAddresses(name.replace(/\.$/, ''), await readSystem())
      if (own !== undefined) return own
      const before = remembered.get(name)
      if (before !== undefined && performance.now() < before.until) return before.found
      const already = asked.get(name)
      if (already !== undefined) return already
      const found = enqueue(name, asker)
      asked.set(name, found)
      found
        .then(
          () => remember(name, found),
          error => {
            if (codeOf(error) !== 'NAME_BUSY') remember(name, found)
          },
        )
        .finally(() => asked.delete(name))
      return found
    },
    close() {
      closed = true
      resolver?.of.cancel()
    },
  }
}

async function addressesOf(
  resolver: Resolver,
  name: string,
  queries: Promise<unknown>[],
): Promise<readonly LookupAddress[]> {
  const found: LookupAddress[] = []
  const note = (family: 4 | 6) => (addresses: string[]) => {
    found.push(...addresses.map(address => ({ address, family })))
  }
  const families = [resolver.resolve4(name).then(note(4)), resolver.resolve6(name).then(note(6))]
  const both = Promise.allSettled(families)
  queries.push(both)
  const first = Promise.any(families).then(
    () => sleep(OTHER_FAMILY_MS, undefined, { ref: false }),
    () => both,
  )
  await Promise.race([both, first])
  if (found.length > 0) return found.sort((a, b) => a.family - b.family)
  const failures = (await both).flatMap(each => (each.status === 'rejected' ? [each.reason as unknown] : []))
  throw failures.find(error => !isUnknown(error)) ?? failures[0]
}

/** Whether a name server said that it has no such address, which another name may have. */
function isUnknown(error: unknown): boolean {
  return ['ENOTFOUND', 'ENODATA'].includes(codeOf(error))
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : 'EFAILED'
}
