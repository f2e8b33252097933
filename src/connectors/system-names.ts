/**
 * What this machine says about names without asking anybody: its hosts file, and how short names are completed. Read again when it
 * has changed. Sends nothing, and refuses to know what a name is asked for.
 */
import type { LookupAddress } from 'node:dns'
import { readFile, stat } from 'node:fs/promises'
import { isIP } from 'node:net'

/** What the files say. Names in lower case. */
export interface SystemNames {
  readonly hosts: ReadonlyMap<string, readonly LookupAddress[]>
  /** domains behind which a name is looked for, in order */
  readonly search: readonly string[]
  /** a name with fewer dots is looked for there before it is taken as it is */
  readonly ndots: number
  /** differs from the one before when the files have changed */
  readonly version: string
}

/** Where the files are. */
export interface NameFiles {
  readonly hosts: string
  readonly resolv: string
}

export const NAME_FILES: NameFiles = { hosts: '/etc/hosts', resolv: '/etc/resolv.conf' }

const LOOKED_AT_EVERY_MS = 5_000
const FILE_BYTES_MAX = 1_048_576
const SEARCH_MAX = 6
const NDOTS_MAX = 15
const LOOPBACKS: readonly LookupAddress[] = [
  { address: '127.0.0.1', family: 4 },
  { address: '::1', family: 6 },
]

/** Makes a reader of the files, which looks at them every few seconds at most. A file that cannot be read counts as empty. */
export function systemNames(files: NameFiles, lookEveryMs = LOOKED_AT_EVERY_MS): () => Promise<SystemNames> {
  let current: Promise<SystemNames> | undefined
  let lookedAt = Number.NEGATIVE_INFINITY

  async function read(before: SystemNames | undefined): Promise<SystemNames> {
    const version = (await Promise.all([versionOf(files.hosts), versionOf(files.resolv)])).join(' ')
    if (before?.version === version) return before
    const [hosts, resolv] = await Promise.all([textOf(files.hosts), textOf(files.resolv)])
    return { hosts: hostsIn(hosts), ...searchIn(resolv), version }
  }

  return () => {
    const now = performance.now()
    if (current === undefined || now - lookedAt >= lookEveryMs) {
      lookedAt = now
      current = Promise.resolve(current).then(read)
    }
    return current
  }
}

/** Addresses that need no name server: of the hosts file, and of `localhost` and what ends in it (RFC 6761). */
export function ownAddresses(name: string, { hosts }: SystemNames): readonly LookupAddress[] | undefined {
  return hosts.get(name) ?? (/(^|\.)localhost$/.test(name) ? LOOPBACKS : undefined)
}

/** The names that name servers are asked for, one after another, until one is known. A dot at the end means: as it is. */
export function candidatesOf(name: string, { search, ndots }: SystemNames): string[] {
  if (name.endsWith('.')) return [name.slice(0, -1)]
  const completed = search.map(domain => `${name}.${domain}`)
  return name.split('.').length > ndots ? [name, ...completed] : [...completed, name]
}

function hostsIn(text: string): Map<string, readonly LookupAddress[]> {
  const hosts = new Map<string, LookupAddress[]>()
  for (const line of text.split('\n')) {
    const [address = '', ...names] = line.replace(/#.*/, '').trim().split(/\s+/)
    const family = isIP(address)
    if (family === 0) continue
    for (const name of names.map(each => each.toLowerCase())) {
      const known = hosts.get(name) ?? []
      if (!known.some(each => each.address === address)) hosts.set(name, [...known, { address, family }])
    }
  }
  return hosts
}

function searchIn(text: string): Pick<SystemNames, 'search' | 'ndots'> {
  let search: string[] = []
  let ndots = 1
  for (const line of text.split('\n')) {
    const [word, ...rest] = line
      .replace(/[#;].*/, '')
      .trim()
      .split(/\s+/)
    // Of several such lines the last one counts, as the C library has it.
    if (word === 'search' || word === 'domain') search = rest.map(each => each.toLowerCase().replace(/\.$/, ''))
    if (word === 'options') ndots = ndotsIn(rest) ?? ndots
  }
  return { search: search.filter(domain => domain !== '').slice(0, SEARCH_MAX), ndots }
}

function ndotsIn(options: readonly string[]): number | undefined {
  const given = options.map(option => /^ndots:(\d{1,3})$/.exec(option)?.[1]).find(each => each !== undefined)
  return given === undefined ? undefined : Math.min(Number(given), NDOTS_MAX)
}

async function versionOf(file: string): Promise<string> {
  const found = await stat(file).catch(() => undefined)
  return found === undefined ? '-' : `${found.ino}:${found.size}:${found.mtimeMs}`
}

async function textOf(file: string): Promise<string> {
  const text = await readFile(file, 'utf8').catch(() => '')
  return text.slice(0, FILE_BYTES_MAX)
}
