import { describe, expect, test } from 'vitest'
import {
  AddressRefused,
  addressRules,
  type FindAddresses,
  guardedLookup,
  judgeAddress,
  judgeHost,
} from '../../src/connectors/address-guard.ts'
import { judgeCallback } from '../../src/domain/callback-address.ts'
import { callbackAddresses } from '../../src/service/deliveries.ts'

const strict = addressRules({ allowLoopback: false })
const devices = addressRules({
  allowLoopback: true,
  refused: ['10.0.0.0/8', 'fd12::/16', 'Bad.example'],
  allowed: ['10.1.0.0/16'],
})

/** Finds the names that it is told. */
function names(known: Record<string, string[]>): FindAddresses {
  return async hostname => {
    const found = known[hostname]
    if (found === undefined) throw new Error('unknown name')
    return found.map(address => ({ address, family: address.includes(':') ? 6 : 4 }))
  }
}

function ask(resolve: ReturnType<typeof guardedLookup>, hostname: string, all: boolean): Promise<unknown> {
  return new Promise((settle, fail) =>
    resolve(hostname, { all }, (error, address) => (error ? fail(error) : settle(address))),
  )
}

describe('an address', () => {
  test.for([
    ['127.0.0.1', 'a loopback address'],
    ['127.255.255.254', 'a loopback address'],
    ['::1', 'a loopback address'],
    ['::ffff:127.0.0.1', 'a loopback address'],
    ['::ffff:7f00:1', 'a loopback address'],
    ['::127.0.0.1', 'a loopback address'],
    ['64:ff9b::127.0.0.1', 'a loopback address'],
    ['169.254.169.254', 'a link-local address'],
    ['fe80::1%eth0', 'a link-local address'],
    ['64:ff9b::a9fe:a9fe', 'a link-local address'],
    ['fd00:ec2::254', 'a metadata address'],
    ['100.100.100.200', 'a metadata address'],
    ['0.0.0.0', 'not the address of a host'],
    ['::', 'not the address of a host'],
    ['255.255.255.255', 'not the address of a host'],
    ['ff02::1', 'not the address of a host'],
    ['example.org', 'not an IP address'],
  ] as const)('%s is refused as %s', ([ip, reason]) => {
    expect(judgeAddress(ip, strict)).toBe(reason)
  })

  test.for(['192.168.1.7', '8.8.8.8', '100.100.100.201', 'fd00:ec2::255', '2001:db8::1', '::ffff:8.8.8.8'])(
    '%s is allowed',
    ip => {
      expect(judgeAddress(ip, strict)).toBeUndefined()
    },
  )

  test('is judged by the configured networks too, and an allowed network wins', () => {
    expect(judgeAddress('127.0.0.1', devices)).toBeUndefined()
    expect(judgeAddress('10.2.0.1', devices)).toBe('refused by configuration')
    expect(judgeAddress('::ffff:10.2.0.1', devices)).toBe('refused by configuration')
    expect(judgeAddress('fd12:1::1', devices)).toBe('refused by configuration')
    expect(judgeAddress('10.1.2.3', devices)).toBeUndefined()
    expect(
      judgeAddress('169.254.1.1', addressRules({ allowLoopback: false, allowed: ['169.254.0.0/16'] })),
    ).toBeUndefined()
  })

  test.for(['10.0.0.0/33', '10.0.0', '10.0.0.0/8/8', '10.0.0.0/', 'fe80::/129', ''])(
    'list with %j in it is refused at start',
    entry => {
      expect(() => addressRules({ allowLoopback: true, refused: [entry] })).toThrow(RangeError)
    },
  )
})

test('a host of a URL is judged where it is a literal address, with or without brackets', () => {
  expect(judgeHost('[::1]', strict)).toBe('a loopback address')
  expect(judgeHost(new URL('http://0x7f.1/').hostname, strict)).toBe('a loopback address')
  expect(judgeHost('localhost', strict)).toBeUndefined()
  expect(judgeHost('bad.EXAMPLE.', devices)).toBe('refused by configuration')
  expect(judgeHost('good.example', devices)).toBeUndefined()
})

test.for([
  [false, false],
  [true, false],
  [false, true],
  [true, true],
] as const)(
  'a callback is connected to where it may be pointed to: loopback %j, link-local %j',
  ([loopback, linkLocal]) => {
    const connected = callbackAddresses({ callbackAllowLoopback: loopback, callbackAllowLinkLocal: linkLocal })
    const pointed = { allowHttps: false, allowLoopback: loopback, allowLinkLocal: linkLocal }
    const literals = [
      ...['127.0.0.1', '127.9.9.9', '[::1]', '[::ffff:127.0.0.1]', '169.254.169.254', '[fe80::1]', '[fd00:ec2::254]'],
      ...['100.100.100.200', '192.0.0.192', '[64:ff9b::a9fe:a9fe]', '0.0.0.0', '[::]', '224.0.0.1', '[ff02::1]'],
      ...['255.255.255.255', '10.0.0.1', '192.168.1.1', '8.8.8.8', '[2001:db8::1]', '[fd00::1]'],
    ]
    for (const literal of literals) {
      const { hostname } = new URL(`http://${literal}`)
      expect([literal, judgeHost(hostname, connected) === undefined]).toEqual([
        literal,
        judgeCallback(`http://${literal}/`, pointed).ok,
      ])
    }
  },
)

describe('a guarded look-up', () => {
  const resolve = guardedLookup(
    strict,
    names({ mixed: ['127.0.0.1', '192.0.2.1', '::1'], inside: ['127.0.0.1', '::1'] }),
  )

  test('answers the allowed addresses of a name only', async () => {
    expect(await ask(resolve, 'mixed', true)).toEqual([{ address: '192.0.2.1', family: 4 }])
    expect(await ask(resolve, 'mixed', false)).toBe('192.0.2.1')
  })

  test('fails where all that a name stands for is refused', async () => {
    await expect(ask(resolve, 'inside', true)).rejects.toThrow(AddressRefused)
    await expect(ask(resolve, 'inside', false)).rejects.toThrow('inside is 127.0.0.1, a loopback address')
  })

  test('fails as the name service does', async () => {
    await expect(ask(resolve, 'nowhere', true)).rejects.toThrow('unknown name')
  })
})
