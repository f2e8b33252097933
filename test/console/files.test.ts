import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { CONSOLE_POLICY, serveConsole } from '../../src/server/console-files.ts'
import { createServer } from '../../src/server/server.ts'
import { silentLog } from '../database.ts'

async function served(folder: string) {
  const server = createServer({ log: silentLog, bodyBytesMax: 1_000 })
  await serveConsole(server, folder)
  afterAll(() => server.close())
  return (url: string, headers: Record<string, string> = {}) => server.inject({ url, headers })
}

describe('the files of the console', () => {
  let folder: string
  let get: Awaited<ReturnType<typeof served>>

  beforeAll(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'drover-console-'))
    await mkdir(path.join(folder, 'assets'))
    await writeFile(path.join(folder, 'index.html'), '<!doctype html>page')
    await writeFile(path.join(folder, 'assets/main-abc.js'), 'script')
    await writeFile(path.join(folder, 'assets/main-abc.js.br'), 'smaller')
    await writeFile(path.join(folder, 'assets/main-abc.js.gz'), 'small')
    get = await served(folder)
  })
  afterAll(() => rm(folder, { recursive: true, force: true }))

  test('every address below /console answers the page, which is asked for anew each time', async () => {
    for (const url of ['/console', '/console/', '/console/jobs/1?show=error', '/console/devices/a%2Fb']) {
      const answer = await get(url)
      expect(answer.statusCode).toBe(200)
      expect(answer.body).toBe('<!doctype html>page')
      expect(answer.headers['cache-control']).toBe('no-cache')
    }
  })

  test('nothing inline and nothing from elsewhere is let into the page', async () => {
    const { headers } = await get('/console')
    expect(headers['content-security-policy']).toBe(CONSOLE_POLICY)
    expect(CONSOLE_POLICY).toContain("default-src 'self'")
    expect(CONSOLE_POLICY).not.toContain('unsafe')
    expect(headers['x-content-type-options']).toBe('nosniff')
  })

  test('what has a hash in its name is kept for ever, and comes as small as the browser takes it', async () => {
    const plain = await get('/console/assets/main-abc.js')
    expect(plain.headers['cache-control']).toContain('immutable')
    expect(plain.headers['content-type']).toContain('text/javascript')
    expect(plain.body).toBe('script')
    const brotli = await get('/console/assets/main-abc.js', { 'accept-encoding': 'gzip, deflate, br' })
    expect([brotli.headers['content-encoding'], brotli.body]).toEqual(['br', 'smaller'])
    const gzip = await get('/console/assets/main-abc.js', { 'accept-encoding': 'gzip' })
    expect([gzip.headers['content-encoding'], gzip.body]).toEqual(['gzip', 'small'])
  })

  test('a file that is gone is not answered with the page, and nothing outside is reached', async () => {
    expect((await get('/console/assets/old-123.js')).statusCode).toBe(404)
    expect((await get('/console/assets/..%2f..%2f..%2fetc%2fpasswd')).statusCode).toBe(404)
  })

  test('without a build the answer says how to make one', async () => {
    const without = await served(path.join(folder, 'nowhere'))
    const answer = await without('/console')
    expect(answer.statusCode).toBe(503)
    expect(answer.body).toContain('npm run build:console')
  })
})
