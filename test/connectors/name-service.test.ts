/** Names are looked up in fair shares: one that no name server answers for holds up no other. */
import { appendFile, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { createNameService, type NameServiceSettings } from '../../src/connectors/name-service.ts'
import { ownAddresses, systemNames } from '../../src/connectors/system-names.ts'
import { nameServer, type Said } from '../name-server.ts'

const say = (name: string): Said | undefined =>
  name.startsWith('silent') ? 'silent' : name.startsWith('good') ? ['127.0.0.9'] : undefined
const LONG_MS = 60_000

async function namesFrom(saying: typeof say, settings: Partial<NameServiceSettings> = {}) {
  const server = await nameServer(saying)
  const service = createNameService({
    servers: [server.address],
    files: await nameFiles(),
    answerMs: LONG_MS,
    turnMs: LONG_MS,
    ...settings,
  })
  onTestFinished(() => service.close())
  return { server, ...service }
}

async function nameFiles(hosts = '', resolv = '') {
  const folder = await mkdtemp(path.join(tmpdir(), 'drover-names-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const files = { hosts: path.join(folder, 'hosts'), resolv: path.join(folder, 'resolv.conf') }
  await writeFile(files.hosts, hosts)
  await writeFile(files.resolv, resolv)
  return files
}

const GOOD = [{ address: '127.0.0.9', family: 4 }]
const silentNames = (count: number) => Array.from({ length: count }, (_, k) => `silent-${k}.test`)

describe('names that no name server answers for', () => {
  test('hold up no other name, whoever asks for it', async () => {
    const { server, find } = await namesFrom(say)
    const settled = vi.fn()
    for (const name of silentNames(40)) find(name, 1).then(settled, settled)
    await vi.waitUntil(() => new Set(server.asked).size === 40, { timeout: 45_000 })
    expect(await find('good-1.test', 1)).toEqual(GOOD)
    expect(await find('good-2.test', 2)).toEqual(GOOD)
    expect(settled).not.toHaveBeenCalled()
  })

  test('take at most half of the look-ups for one asker, and others of it wait for their turn only', async () => {
    const { server, find } = await namesFrom(say, { lookupsMax: 8, turnMs: 300 })
    const crowd = silentNames(20).map(name => find(name, 1))
    const ends = Promise.allSettled(crowd.slice(4))
    for (const each of crowd) each.catch(() => {})
    await vi.waitUntil(() => server.asked.length >= 4, { timeout: 45_000 })
    expect(await find('good-1.test', 2)).toEqual(GOOD)
    for (const end of await ends) expect(end).toMatchObject({ status: 'rejected', reason: { code: 'NAME_BUSY' } })
    await expect(find('good-2.test', 1)).rejects.toMatchObject({ code: 'NAME_BUSY' })
    expect(await find('good-3.test', 2)).toEqual(GOOD)
    expect(new Set(server.asked.filter(name => name.startsWith('silent'))).size).toBe(4)
  })

  test('fail in time, and at once when they are asked for again', async () => {
    const { find } = await namesFrom(say, { answerMs: 200 })
    const failure = await find('silent.test', 1).catch((error: unknown) => error)
    expect(failure).toMatchObject({
      code: 'NAME_SILENT',
      message: 'no name server answered for silent.test in time',
    })
    await expect(find('silent.test', 2)).rejects.toBe(failure)
  })

  test('make room for those that wait when their time is over', async () => {
    const { find } = await namesFrom(say, { lookupsMax: 2, answerMs: 200 })
    const crowd = silentNames(2).map(name => find(name, 1))
    const waiting = find('good.test', 1)
    expect((await Promise.allSettled(crowd)).map(({ status }) => status)).toEqual(['rejected', 'rejected'])
    expect(await waiting).toEqual(GOOD)
  })
})

describe('a name', () => {
  test('is asked for once, however many want it at the same time and just after', async () => {
    const { server, find } = await namesFrom(say)
    const found = await Promise.all(Array.from({ length: 50 }, () => find('Good.test', 1)))
    expect(found).toEqual(Array(50).fill(GOOD))
    expect(await find('good.test', 2)).toEqual(GOOD)
    expect(server.asked).toEqual(['good.test'])
  })

  test('has its addresses of both families, those of IPv4 first', async () => {
    const { find } = await namesFrom(() => ['::1', '127.0.0.1', '127.0.0.2'])
    expect(await find('both.test', 1)).toEqual([
      { address: '127.0.0.1', family: 4 },
      { address: '127.0.0.2', family: 4 },
      { address: '::1', family: 6 },
    ])
    const six = await namesFrom(() => ['::1'])
    expect(await six.find('six.test', 1)).toEqual([{ address: '::1', family: 6 }])
  })

  test('does not wait for a name server that says nothing of one family', async () => {
    const { find } = await namesFrom(() => 'silent about IPv6')
    expect(await find('half.test', 1)).toEqual([{ address: '127.0.0.1', family: 4 }])
  })

  test('that nobody knows fails with what the name server said', async () => {
    const { find } = await namesFrom(() => undefined)
    await expect(find('nobody.test', 1)).rejects.toMatchObject({
      code: 'ENOTFOUND',
      message: 'the address of nobody.test was not found (ENOTFOUND)',
    })
  })

  test('in the hosts file, and localhost, is not asked for', async () => {
    const files = await nameFiles('# ours\n10.0.0.7 Gateway gw # old\n::7 gateway\nnonsense here\n10.0.0.8 good.test\n')
    const { server, find } = await namesFrom(say, { files })
    const gateway = [
      { address: '10.0.0.7', family: 4 },
      { address: '::7', family: 6 },
    ]
    expect(await find('GATEWAY', 1)).toEqual(gateway)
    expect(await find('gw.', 1)).toEqual(gateway.slice(0, 1))
    expect(await find('good.test', 1)).toEqual([{ address: '10.0.0.8', family: 4 }])
    const loopback = [
      { address: '127.0.0.1', family: 4 },
      { address: '::1', family: 6 },
    ]
    expect(await find('localhost', 1)).toEqual(loopback)
    expect(await find('pump.localhost', 1)).toEqual(loopback)
    expect(await find('192.0.2.1', 1)).toEqual([{ address: '192.0.2.1', family: 4 }])
    expect(server.asked).toEqual([])
  })

  test('is completed as the system completes it', async () => {
    const files = await nameFiles('', 'nameserver 192.0.2.1\nsearch svc.test good.test.\noptions timeout:1 ndots:2\n')
    const { server, find } = await namesFrom(name => (name === 'a.b.good.test' ? ['127.0.0.9'] : undefined), { files })
    expect(await find('a.b', 1)).toEqual(GOOD)
    expect(server.asked).toEqual(['a.b.svc.test', 'a.b.good.test'])
    server.asked.length = 0
    await expect(find('a.b.c', 1)).rejects.toMatchObject({ code: 'ENOTFOUND' })
    await expect(find('absolute.', 1)).rejects.toMatchObject({ code: 'ENOTFOUND' })
    expect(server.asked).toEqual(['a.b.c', 'a.b.c.svc.test', 'a.b.c.good.test', 'absolute'])
  })
})

test('a hosts file that has changed is read again', async () => {
  const files = await nameFiles('10.0.0.1 one\n')
  const read = systemNames(files, 0)
  expect(ownAddresses('two', await read())).toBeUndefined()
  await appendFile(files.hosts, '10.0.0.2 two\n')
  expect(ownAddresses('two', await read())).toEqual([{ address: '10.0.0.2', family: 4 }])
})
