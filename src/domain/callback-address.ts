/**
 * Judges the `callback` of a job by its text alone, and makes the addresses of its notifications. Refuses to look names up:
 * what a name stands for is judged at each delivery. Serves: Job request (`callback`), Events.
 */

/** What the operator allows beside plain HTTP to ordinary hosts. */
export interface CallbackRules {
  readonly allowHttps: boolean
  /** 127.0.0.0/8, ::1 and the name `localhost` */
  readonly allowLoopback: boolean
  /** 169.254.0.0/16, fe80::/10 and the addresses at which clouds answer a guest's questions about itself */
  readonly allowLinkLocal: boolean
}

/** A usable address as the client wrote it, empty for none; or a problem, a sentence without its subject. */
export type CallbackJudgement =
  | { readonly ok: true; readonly address: string }
  | { readonly ok: false; readonly problem: string }

/** Longest callback, in characters. */
export const CALLBACK_LENGTH_MAX = 2_000

/** The characters of RFC 3986, a percent sign only before two hexadecimal digits. */
const URI_TEXT = /^(?:[A-Za-z0-9\-._~:/?#[\]@!$&'()*+,;=]|%[0-9A-Fa-f]{2})+$/

const refuse = (problem: string): CallbackJudgement => ({ ok: false, problem })

/**
 * Judges a callback. Space around it does not count; an empty one is no callback. User names and passwords in it are refused,
 * since everyone who may read the job would read them: a receiver recognises the service by the signature.
 */
export function judgeCallback(text: string, rules: CallbackRules): CallbackJudgement {
  const address = text.trim()
  if (address === '') return { ok: true, address }
  if (address.length > CALLBACK_LENGTH_MAX) return refuse(`must have at most ${CALLBACK_LENGTH_MAX} characters`)
  if (!URI_TEXT.test(address)) return refuse('must be an address as in RFC 3986, such as http://host:8080/path')
  const scheme = /^([A-Za-z][A-Za-z0-9+.-]*):/.exec(address)?.[1]?.toLowerCase()
  if (scheme !== 'http' && !(scheme === 'https' && rules.allowHttps)) {
    return refuse(`must begin with http:// : only the HTTP scheme is supported${rules.allowHttps ? ', and HTTPS' : ''}`)
  }
  // Browsers would forgive http:host and http:/host; other readers of the same text would not.
  if (!/^https?:\/\/[^/?#]/i.test(address) || !URL.canParse(address)) {
    return refuse('must name a host, such as http://host:8080/path')
  }
  const url = new URL(address)
  if (url.username !== '' || url.password !== '') return refuse('must not hold a user name or password')
  const reason = judgeLiteralHost(url.hostname, rules)
  return reason === undefined ? { ok: true, address } : refuse(`must not point to ${reason}`)
}

/**
 * The address of one notification: its name appended to the path of the callback, slashes at the end of which do not count. A query
 * stays behind the path; a fragment is never sent.
 */
export function notificationAddress(callback: string, name: string): string {
  const [, path = '', query = ''] = /^([^?#]*)(\?[^#]*)?/.exec(callback) ?? []
  return `${path.replace(/\/+$/, '')}/${name}${query}`
}

/**
 * Why the host of a parsed URL may not be called, or undefined. A name other than `localhost` is not judged; the URL's parser has
 * brought every way of writing an IPv4 address to the dotted one.
 */
function judgeLiteralHost(hostname: string, rules: CallbackRules): string | undefined {
  const host = hostname.replace(/\.$/, '')
  if (host === 'localhost' || host.endsWith('.localhost')) return rules.allowLoopback ? undefined : 'a loopback address'
  if (host.startsWith('[')) return judgeIpv6(ipv6Groups(host.slice(1, -1)), rules)
  return /^\d+\.\d+\.\d+\.\d+$/.test(host) ? judgeIpv4(host.split('.').map(Number), rules) : undefined
}

/** Metadata services outside the link-local networks: Alibaba, Oracle; AWS over IPv6. */
const METADATA_IPV4 = ['100.100.100.200', '192.0.0.192']
const METADATA_IPV6 = 'fd00:ec2:0:0:0:0:0:254'

function judgeIpv4(bytes: readonly number[], rules: CallbackRules): string | undefined {
  const [a = 0, b = 0] = bytes
  if (a === 127) return rules.allowLoopback ? undefined : 'a loopback address'
  if (a === 169 && b === 254) return rules.allowLinkLocal ? undefined : 'a link-local address'
  if (METADATA_IPV4.includes(bytes.join('.'))) return rules.allowLinkLocal ? undefined : 'a metadata address'
  return a === 0 || a >= 224 ? 'what is not the address of a host' : undefined
}

function judgeIpv6(groups: readonly number[], rules: CallbackRules): string | undefined {
  const zeros = groups.findIndex(group => group !== 0)
  if (zeros === -1) return 'what is not the address of a host'
  if (zeros === 7 && groups[7] === 1) return rules.allowLoopback ? undefined : 'a loopback address'
  const embedded = embeddedIpv4(groups)
  if (embedded) return judgeIpv4(embedded, rules)
  const first = groups[0] ?? 0
  if ((first & 0xffc0) === 0xfe80) return rules.allowLinkLocal ? undefined : 'a link-local address'
  if (groups.map(group => group.toString(16)).join(':') === METADATA_IPV6) {
    return rules.allowLinkLocal ? undefined : 'a metadata address'
  }
  return first >= 0xff00 ? 'what is not the address of a host' : undefined
}

/** The bytes of an IPv4 address within a mapped (::ffff:0:0/96), compatible (::/96) or translated (64:ff9b::/96) one. */
function embeddedIpv4(groups: readonly number[]): number[] | undefined {
  const prefix = groups
    .slice(0, 6)
    .map(group => group.toString(16))
    .join(':')
  if (!['0:0:0:0:0:ffff', '0:0:0:0:0:0', '64:ff9b:0:0:0:0'].includes(prefix)) return undefined
  return groups.slice(6).flatMap(group => [group >> 8, group & 255])
}

/** The eight groups of an IPv6 address as the URL's parser writes it. */
function ipv6Groups(text: string): number[] {
  const [head = '', tail] = text.split('::')
  const read = (part: string) => (part === '' ? [] : part.split(':').map(group => Number.parseInt(group, 16)))
  const before = read(head)
  const after = tail === undefined ? [] : read(tail)
  return [...before, ...new Array<number>(8 - before.length - after.length).fill(0), ...after]
}
