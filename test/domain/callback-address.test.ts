import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { CALLBACK_LENGTH_MAX, judgeCallback, notificationAddress } from '../../src/domain/callback-address.ts'

const strict = { allowHttps: false, allowLoopback: false, allowLinkLocal: false }
const open = { allowHttps: true, allowLoopback: true, allowLinkLocal: true }

const problemOf = (text: string, rules = strict) => {
  const judged = judgeCallback(text, rules)
  return judged.ok ? undefined : judged.problem
}

describe('the callback of a job', () => {
  it.each([
    'http://cb',
    'http://10.1.2.3:8080/jobs/',
    'HTTP://Host.Example/a%20b?x=1&y=2',
    'http://[2001:db8::1]:80/p',
  ])('may be %s, and reads back as it was written', text => {
    expect(judgeCallback(text, strict)).toEqual({ ok: true, address: text })
  })

  it('is none where it is empty, whatever space is around it', () => {
    expect(judgeCallback('', strict)).toEqual({ ok: true, address: '' })
    expect(judgeCallback('  ', strict)).toEqual({ ok: true, address: '' })
    expect(judgeCallback(' http://cb ', strict)).toEqual({ ok: true, address: 'http://cb' })
  })

  it.each(['https://cb', 'ftp://cb', 'javascript:alert(1)', 'cb.example/path', '/path', 'mailto:a@b'])(
    'is refused in another scheme than HTTP: %s',
    text => {
      expect(problemOf(text)).toContain('only the HTTP scheme is supported')
    },
  )

  it('may be HTTPS where the operator allows it', () => {
    expect(problemOf('https://cb/path', open)).toBeUndefined()
    expect(problemOf('ftp://cb', open)).toContain('only the HTTP scheme is supported')
  })

  it.each(['http:cb', 'http:/cb', 'http://', 'http:///path', 'http://?x', 'http://cb:99999/', 'http://[::1'])(
    'is refused without a usable host: %s',
    text => {
      expect(problemOf(text, open)).toMatch(/host/)
    },
  )

  it.each([
    'http://a b',
    'http://cb/%zz',
    'http://cb/{id}',
    'http://cb\\x',
    'http://cb/\u0000',
    'http://münchen.example',
  ])('is refused where it is not written as RFC 3986 wants: %j', text => {
    expect(problemOf(text)).toContain('RFC 3986')
  })

  it('is refused with a user name or password, which every reader of the job would see', () => {
    expect(problemOf('http://me:secret@cb/')).toContain('user name or password')
  })

  it('is bounded in length', () => {
    expect(problemOf(`http://cb/${'x'.repeat(CALLBACK_LENGTH_MAX)}`)).toContain(String(CALLBACK_LENGTH_MAX))
  })

  it.each([
    'http://127.0.0.1/',
    'http://127.9.9.9/',
    'http://2130706433/',
    'http://0x7f000001/',
    'http://0177.0.0.1/',
    'http://127.1/',
    'http://[::1]/',
    'http://[0:0:0:0:0:0:0:1]/',
    'http://[::ffff:127.0.0.1]/',
    'http://[::ffff:7f00:1]/',
    'http://[::127.0.0.1]/',
    'http://[64:ff9b::7f00:1]/',
    'http://localhost:8080/',
    'http://LOCALHOST./',
    'http://a.localhost/',
  ])('is refused on loopback however it is written, unless allowed: %s', text => {
    expect(problemOf(text)).toBe('must not point to a loopback address')
    expect(problemOf(text, { ...strict, allowLoopback: true })).toBeUndefined()
  })

  it.each([
    ['http://169.254.10.1/', 'link-local'],
    ['http://169.254.169.254/latest/meta-data', 'link-local'],
    ['http://[fe80::1]/', 'link-local'],
    ['http://[febf::1]/', 'link-local'],
    ['http://[::ffff:169.254.169.254]/', 'link-local'],
    ['http://2852039166/', 'link-local'],
    ['http://100.100.100.200/', 'metadata'],
    ['http://192.0.0.192/', 'metadata'],
    ['http://[fd00:ec2::254]/', 'metadata'],
  ])('is refused at a link-local or metadata address, unless allowed: %s', (text, kind) => {
    expect(problemOf(text)).toContain(kind)
    expect(problemOf(text, { ...strict, allowLinkLocal: true })).toBeUndefined()
  })

  it.each([
    'http://0.0.0.0/',
    'http://0/',
    'http://[::]/',
    'http://224.0.0.1/',
    'http://255.255.255.255/',
    'http://[ff02::1]/',
  ])('is refused at what is no host, whatever is allowed: %s', text => {
    expect(problemOf(text, open)).toContain('not the address of a host')
  })

  it('never throws, and what it accepts is an address that begins with http', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          fc.webUrl(),
          fc.string().map(rest => `http://${rest}`),
        ),
        text => {
          const judged = judgeCallback(text, strict)
          if (!judged.ok || judged.address === '') return
          expect(new URL(judged.address).protocol).toBe('http:')
          expect(URL.canParse(notificationAddress(judged.address, 'jobStarted'))).toBe(true)
        },
      ),
    )
  })
})

describe('the address of a notification', () => {
  it.each([
    ['http://cb', 'http://cb/jobStarted'],
    ['http://cb/', 'http://cb/jobStarted'],
    ['http://cb/a/b', 'http://cb/a/b/jobStarted'],
    ['http://cb/a/b//', 'http://cb/a/b/jobStarted'],
    ['http://cb/a/?key=1/', 'http://cb/a/jobStarted?key=1/'],
    ['http://cb?key=1', 'http://cb/jobStarted?key=1'],
    ['http://cb/a#part', 'http://cb/a/jobStarted'],
    ['http://cb/a/?x#part?y', 'http://cb/a/jobStarted?x'],
  ])('of %s is %s', (callback, address) => {
    expect(notificationAddress(callback, 'jobStarted')).toBe(address)
  })
})
