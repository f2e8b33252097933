import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { CONSOLE_POLICY, serveConsole } from '../../src/server/console-files.ts'
import { createServer } from '../../src/server/server.ts'
import { silentLog } from '../database.ts'
import { buildWhereOld, CONSOLE_FOLDER } from './build.ts'

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

describe('the build', () => {
  /** Compressed bytes that the first view may load. */
  const FIRST_LOAD_MAX = 250 * 1_024

  test('the overview, and any other view, loads at most 250 KB compressed at first', async () => {
    await buildWhereOld()
    const page = await readFile(path.join(CONSOLE_FOLDER, 'index.html'), 'utf8')
    const entries = [...page.matchAll(/(?:src|href)="\/console\/(assets\/[^"]+)"/g)].map(([, file]) => file ?? '')
    expect(entries.length).toBeGreaterThan(1)
    const files = await readdir(path.join(CONSOLE_FOLDER, 'assets'))
    const scripts = new Map(
      await Promise.all(
        files
          .filter(file => file.endsWith('.js'))
          .map(async file => [file, await readFile(path.join(CONSOLE_FOLDER, 'assets', file), 'utf8')] as const),
      ),
    )
    const sizeOf = async (file: string) => (await readFile(path.join(CONSOLE_FOLDER, `assets/${file}.br`))).length

    /** Everything that a script imports at once, itself among it. */
    const withImports = (file: string, seen = new Set<string>()): Set<string> => {
      if (seen.has(file)) return seen
      seen.add(file)
      const imports = scripts.get(file)?.matchAll(/(?:from|import)\s*"\.\/([^"]+\.js)"/g) ?? []
      for (const [, other] of imports) if (other) withImports(other, seen)
      return seen
    }
    const first = new Set(
      entries.flatMap(entry => {
        const file = entry.replace('assets/', '')
        return file.endsWith('.js') ? [...withImports(file)] : [file]
      }),
    )
    const sum = async (names: Iterable<string>) =>
      (await Promise.all([...names].map(sizeOf))).reduce((a, b) => a + b, 0)
    // A view that is gone to loads its own part besides, and what is drawn in it.
    const views = [...scripts.keys()].filter(file =>
      /^(overview|jobs|job|launch|tasks|types|devices|users)-/.test(file),
    )
    expect(views.length).toBeGreaterThan(5)
    for (const view of views) {
      const loaded = new Set([...first, ...withImports(view)])
      for (const chart of files.filter(file => /^chart-.*\.(js|css)$/.test(file))) loaded.add(chart)
      expect(await sum([...loaded].filter(file => /\.(js|css)$/.test(file))), view).toBeLessThan(FIRST_LOAD_MAX)
    }
  })
})
