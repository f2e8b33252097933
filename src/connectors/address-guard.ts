/**
 * Which network addresses the service may call out to, whoever names them: devices in their URL, clients in their callback. Judges
 * the address that is connected to, never the name, so that a name cannot point elsewhere once it was judged. Knows no protocol.
 */
import type { LookupAddress } from 'node:dns'
import { BlockList, isIP, type LookupFunction } from 'node:net'

/** What an operator says about addresses. An address in `allowed` is allowed, whatever else holds. */
export interface AddressSettings {
  /** 127.0.0.0/8 and ::1 */
  readonly allowLoopback: boolean
  /** addresses and networks such as `10.1.0.0/16`, allowed though refused otherwise */
  readonly allowed?: readonly string[]
  /** addresses, networks and host names refused beside the built-in ones */
  readonly refused?: readonly string[]
}

/** Settings made ready for `judgeAddress`. */
export interface AddressRules {
  readonly allowed: BlockList
  readonly refused: readonly { readonly list: BlockList; readonly reason: string }[]
  /** in lower case */
  readonly refusedNames: ReadonlySet<string>
}

const LOOPBACK = ['127.0.0.0/8', '::1']
const LINK_LOCAL = ['169.254.0.0/16', 'fe80::/10']
/** Where clouds answer a guest's questions about itself, beside link-local: AWS over IPv6, Alibaba, Oracle. */
const METADATA = ['fd00:ec2::254', '100.100.100.200', '192.0.0.192']
/** What an operator allows at once who allows the one. */
export const LINK_LOCAL_AND_METADATA: readonly string[] = [...LINK_LOCAL, ...METADATA]
const NOT_A_HOST = ['0.0.0.0/8', '224.0.0.0/4', '240.0.0.0/4', '::', 'ff00::/8']

const HOST_NAME = /^[a-z0-9_]([a-z0-9_.-]{0,252})$/i
const CONFIGURED = 'refused by configuration'

/** Whether a text can be refused: an address, a network or a host name. */
export function isRefusable(entry: string): boolean {
  try {
    return addressRules({ allowLoopback: true, refused: [entry] }).refused.length > 0
  } catch {
    return false
  }
}

/** Makes rules of settings. Throws a `RangeError` naming the entry that is neither an address nor a network nor, if refused, a name. */
export function addressRules({ allowLoopback, allowed = [], refused = [] }: AddressSettings): AddressRules {
  const names = refused.filter(entry => HOST_NAME.test(entry) && !/^[\d.]+$/.test(entry))
  const networks = refused.filter(entry => !names.includes(entry))
  return {
    refusedNames: new Set(names.map(name => name.toLowerCase())),
    allowed: listOf(allowed),
    refused: [
      { list: listOf(allowLoopback ? [] : LOOPBACK), reason: 'a loopback address' },
      { list: listOf(METADATA), reason: 'a metadata address' },
      { list: listOf(LINK_LOCAL), reason: 'a link-local address' },
      { list: listOf(NOT_A_HOST), reason: 'not the address of a host' },
      { list: listOf(networks), reason: CONFIGURED },
    ],
  }
}

/** Why an address may not be called, such as `a link-local address`; undefined where it may. `ip` is an IPv4 or IPv6 literal. */
export function judgeAddress(ip: string, rules: AddressRules): string | undefined {
  const bare = withoutZone(ip)
  const family = isIP(bare)
  if (family === 0) return 'not an IP address'
  const address = family === 6 ? (embeddedIpv4(bare) ?? bare) : bare
  const type = isIP(address) === 6 ? 'ipv6' : 'ipv4'
  if (rules.allowed.check(address, type)) return undefined
  return rules.refused.find(({ list }) => list.check(address, type))?.reason
}

/** Finds the addresses of a name, or fails. */
export type FindAddresses = (hostname: string) => Promise<readonly LookupAddress[]>

/** The error of a guarded look-up that found refused addresses only. */
export class AddressRefused extends Error {
  override readonly name = 'AddressRefused'
  readonly code = 'ADDRESS_REFUSED'
}

/**
 * Why the host of a URL may not be called, where that can be said without asking the name service: it is a literal address or a
 * name that is refused. Sockets do not look up a literal, so this is asked beside the guarded look-up.
 */
export function judgeHost(hostname: string, rules: AddressRules): string | undefined {
  const host = hostname.startsWith('[') ? hostname.slice(1, -1) : hostname
  if (isIP(withoutZone(host)) !== 0) return judgeAddress(host, rules)
  return rules.refusedNames.has(host.toLowerCase().replace(/\.$/, '')) ? CONFIGURED : undefined
}

/**
 * A look-up for `net.connect` and everything built on it, that answers allowed addresses only: those of one answer are judged and then
 * connected to, and the name is not asked for again in between. Fails as `find` does, and with `AddressRefused` where all that the
 * name stands for is refused.
 */
export function guardedLookup(rules: AddressRules, find: FindAddresses): LookupFunction {
  return (hostname, options, callback) => {
    const wanted =
      options.family === 4 || options.family === 'IPv4' ? 4 : options.family === 6 || options.family === 'IPv6' ? 6 : 0
    find(hostname).then(
      addresses => {
        const found = addresses.filter(({ family }) => wanted === 0 || family === wanted)
        const allowed = found.filter(({ address }) => judgeAddress(address, rules) === undefined)
        const first = allowed[0]
        if (first === undefined) callback(refusal(hostname, found[0]?.address, rules), '')
        else if (options.all) callback(null, allowed)
        else callback(null, first.address, first.family)
      },
      (error: NodeJS.ErrnoException) => callback(error, ''),
    )
  }
}

function refusal(hostname: string, address: string | undefined, rules: AddressRules): AddressRefused {
  if (address === undefined) return new AddressRefused(`${hostname} has no address`)
  return new AddressRefused(`${hostname} is ${address}, ${judgeAddress(address, rules)}`)
}

function listOf(entries: readonly string[]): BlockList {
  const list = new BlockList()
  for (const entry of entries) {
    const [address = '', prefix, ...rest] = entry.trim().split('/')
    const family = isIP(address)
    const longest = family === 6 ? 128 : 32
    const bits = prefix === undefined ? longest : /^\d{1,3}$/.test(prefix) ? Number(prefix) : -1
    if (family === 0 || rest.length > 0 || bits < 0 || bits > longest) {
      throw new RangeError(`${entry} is neither an address nor a network such as 10.1.0.0/16`)
    }
    list.addSubnet(address, bits, family === 6 ? 'ipv6' : 'ipv4')
  }
  return list
}

function withoutZone(ip: string): string {
  return ip.replace(/%.*$/, '')
}

/** The IPv4 address within a mapped (::ffff:0:0/96), translated (64:ff9b::/96) or compatible IPv6 address. */
function embeddedIpv4(ip: string): string | undefined {
  const canonical = new URL(`http://[${ip}]`).hostname.slice(1, -1)
  const match = /^(?:::ffff:|64:ff9b::|::)([0-9a-f]{1,4}):([0-9a-f]{1,4})$/.exec(canonical)
  if (match === null) return undefined
  const [high, low] = [Number.parseInt(match[1]!, 16), Number.parseInt(match[2]!, 16)]
  return `${high >> 8}.${high & 255}.${low >> 8}.${low & 255}`
}
