/** How the text of a configuration variable becomes its value, and what the operator is told when it cannot. */
import { readFileSync } from 'node:fs'
import { isIP } from 'node:net'

/** Turns the text of a variable into its value, or throws what is expected instead: "a whole number from 1 to 10". */
export type Parser<T> = (text: string) => T

export const text: Parser<string> = value => value

/** The path of a file that can be read now. */
export const readableFile: Parser<string> = value => {
  try {
    readFileSync(value)
  } catch (error) {
    throw new Error(`a file that can be read (${(error as NodeJS.ErrnoException).code})`)
  }
  return value
}

export function textOfAtLeast(length: number): Parser<string> {
  return value => {
    if (value.length < length) throw new Error(`a text of at least ${length} characters`)
    return value
  }
}

export function wholeNumber(least: number, most: number): Parser<number> {
  return value => {
    const number = /^\d+$/.test(value) ? Number(value) : Number.NaN
    if (!(number >= least && number <= most)) throw new Error(`a whole number from ${least} to ${most}`)
    return number
  }
}

export const port = wholeNumber(0, 65_535)
export const longestMs = 2_147_483_647

export const trueOrFalse: Parser<boolean> = value => {
  if (value !== 'true' && value !== 'false') throw new Error('true or false')
  return value === 'true'
}

export function url(...schemes: string[]): Parser<string> {
  return value => {
    const parsed = URL.canParse(value) ? new URL(value) : null
    if (!parsed || !schemes.includes(parsed.protocol.slice(0, -1))) {
      throw new Error(`an address that begins with ${schemes.map(scheme => `${scheme}://`).join(' or ')}`)
    }
    return value
  }
}

/** What a browser sends as `Origin`, or `*`. */
export const origin: Parser<string> = value => {
  if (value !== '*' && !(URL.canParse(value) && new URL(value).origin === value)) {
    throw new Error('origins such as https://console.example.com, separated by commas, or *')
  }
  return value
}

/** The address of a name server, with a port where it is not 53. */
export const nameServer: Parser<string> = value => {
  const [, bracketed, plain, port = '53'] = /^(?:\[([^\]]+)\]|([^:[\]]+))(?::(\d{1,5}))?$/.exec(value) ?? []
  const isServer = isIP(bracketed ?? plain ?? value) !== 0 && Number(port) > 0 && Number(port) <= 65_535
  if (!isServer) throw new Error('addresses such as 10.0.0.2, 10.0.0.2:5353 or [::1]:5353, separated by commas')
  return value
}

/** An address of the Internet protocol, or a network of them. */
export const network: Parser<string> = value => {
  const [address = '', bits, ...more] = value.split('/')
  const version = isIP(address)
  const isNetwork = bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= (version === 4 ? 32 : 128))
  if (version === 0 || !isNetwork || more.length > 0) {
    throw new Error('addresses or networks such as 10.0.0.0/8, separated by commas')
  }
  return value
}

export function numberBetween(least: number, most: number): Parser<number> {
  return value => {
    const number = /^\d+(\.\d+)?$/.test(value) ? Number(value) : Number.NaN
    if (!(number >= least && number <= most)) throw new Error(`a number from ${least} to ${most}`)
    return number
  }
}

export const email: Parser<string> = value => {
  if (!/^[^\s@]+@[^\s@]+$/.test(value)) throw new Error('an email address')
  return value
}

export const pathSegment: Parser<string> = value => {
  if (!/^[\w.~-]+$/.test(value)) throw new Error('one segment of a path: letters, digits, "-", "_", "." and "~"')
  return value
}

/** 5 to 32 bytes, the first with its highest bit set, as RFC 3411 wants. */
export const engineId: Parser<string> = value => {
  if (!/^[89a-f][0-9a-f]([0-9a-f]{2}){4,31}$/i.test(value)) {
    throw new Error('5 to 32 bytes in hexadecimal digits, the first at least 80')
  }
  return value
}

export const objectIdentifier: Parser<string> = value => {
  if (!/^[0-2](\.\d{1,10}){2,60}$/.test(value))
    throw new Error('an object identifier such as 1.3.6.1.4.1.8072.9999.9999')
  return value
}

export const deviceUrlTemplate: Parser<string> = value => {
  url('http', 'https')(value.replaceAll(/\{(address|id)\}/g, 'x'))
  if (!value.includes('{address}')) throw new Error('an address in which {address} stands for that of the device')
  return value
}

export function oneOf<Word extends string>(...words: Word[]): Parser<Word> {
  return value => {
    const found = words.find(word => word === value)
    if (found === undefined) throw new Error(`one of ${words.join(', ')}`)
    return found
  }
}

/** Words separated by commas, in the order of their first appearance. */
export function listOf<T>(parse: Parser<T>): Parser<readonly T[]> {
  return value => {
    const words = value.split(',').map(each => each.trim())
    return [...new Set(words.filter(each => each !== '').map(parse))]
  }
}
