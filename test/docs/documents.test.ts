/** Every command and every request in the documents, run in order against a service of its own; and what each page must say of the rest. */
import { spawnSync } from 'node:child_process'
import { existsSync, globSync } from 'node:fs'
import { chmod, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openHouse } from '../service/house.ts'
import { asExpression, blocksOf, commandsOf, runBlocks } from './document.ts'

const root = path.resolve(import.meta.dirname, '../..')
/** The page of the command line is printed from examples that test/cli/examples.test.ts runs as they stand. */
const documents = globSync(['*.md', 'docs/**/*.md', 'deploy/**/*.md'], { cwd: root })
  .filter(name => name !== 'docs/reference/command-line.md')
  .sort()
const texts = new Map(
  await Promise.all(documents.map(async name => [name, await readFile(path.join(root, name), 'utf8')] as const)),
)
const withCommands = documents.filter(name => commandsOf(texts.get(name)!).length > 0)

/** What a document may use and a bare machine may not have, beside curl: a document that does is left out there, with a printed word. */
const needed = ['curl', 'mosquitto_sub', 'mosquitto_passwd']
const isThere = (command: string) => spawnSync(command, ['--help']).error === undefined
const needs = (text: string) => [
  ...needed.filter(command => text.includes(command)),
  ...(text.includes('device-mosquitto.sh') ? ['mosquitto_sub'] : []),
]

/** How long the commands of one document may take: each of the command line starts a Node. */
const RUN_MS = 300_000

const folder = await mkdtemp(path.join(tmpdir(), 'drover-docs-'))
// Started by root, a database runs as somebody else, who must be able to enter.
await chmod(folder, 0o711)
afterAll(() => rm(folder, { recursive: true, force: true }))
const bin = path.join(folder, 'bin')
await mkdir(bin)
await writeFile(
  path.join(bin, 'drover'),
  `#!/bin/sh\nexec '${process.execPath}' '${path.join(root, 'src/cli/drover.ts')}' "$@"\n`,
)
await chmod(path.join(bin, 'drover'), 0o755)

/** A folder to work in, with what the documents speak of beside it. */
async function workplace(name: string): Promise<string> {
  const made = path.join(folder, name.replaceAll('/', '-'))
  await mkdir(made, { mode: 0o711 })
  await symlink(path.join(root, 'examples'), path.join(made, 'examples'))
  return made
}

describe.each(withCommands)('%s', name => {
  const commands = commandsOf(texts.get(name)!)
  const missing = needs(commands.map(({ body }) => body).join('')).filter(command => !isThere(command))
  if (missing.length > 0) process.stdout.write(`skipped without ${missing.join(', ')}: the commands of ${name}\n`)

  let house: Awaited<ReturnType<typeof openHouse>>
  beforeAll(async () => {
    house = await openHouse()
  })

  test.skipIf(missing.length > 0)(
    'its commands do what it says, on a service of their own',
    async () => {
      const { url, mqtt, apiKey, databaseUrl } = house
      const { code, printed, stderr } = await runBlocks(commands, {
        cwd: await workplace(name),
        timeoutMs: RUN_MS,
        env: {
          DROVER_URL: url,
          DROVER_API_KEY: apiKey,
          DATABASE_URL: databaseUrl,
          MQTT: mqtt,
          MQTT_PORT: new URL(mqtt).port,
          PATH: `${bin}:${path.dirname(process.execPath)}:${process.env.PATH}`,
        },
      })
      const stoppedAt = commands[printed.length - 1]
      expect(code, `line ${stoppedAt?.line}: ${stoppedAt?.body}\n${printed.at(-1)}\n${stderr}`).toBe(0)
      for (const [index, { line, prints }] of commands.entries()) {
        if (prints !== null) expect(printed[index], `line ${line}`).toMatch(asExpression(prints))
      }
    },
    RUN_MS + 30_000,
  )
})

const all = documents.flatMap(name => blocksOf(texts.get(name)!).map(block => ({ name, ...block })))
const places = (blocks: typeof all) => blocks.map(({ name, line }) => `${name}:${line}`)

test('every block says what it is, and is run, printed, held by another test, or said not to be run', () => {
  const isHeld = ({ shownBy, isNotRun }: (typeof all)[number]) => shownBy !== null || isNotRun
  expect(all.length).toBeGreaterThan(60)
  expect(places(all.filter(({ language }) => language === ''))).toEqual([])
  // Pictures and what stands for itself are no commands; a file or a message that readers copy is held by a test.
  const copied = all.filter(({ language, isOutput }) => !/^(sh|text|mermaid)$/.test(language) && !isOutput)
  expect(places(copied.filter(block => !isHeld(block)))).toEqual([])
})

test('what is said to be shown by a file is shown there, in these words', async () => {
  const wrong: string[] = []
  for (const { name, line, shownBy } of all) {
    if (shownBy === null) continue
    const file = path.join(root, shownBy.file)
    const text = existsSync(file) ? (await readFile(file, 'utf8')).replace(/\s+/g, ' ') : ''
    if (!text.includes(shownBy.words)) wrong.push(`${name}:${line}: ${shownBy.file}: ${shownBy.words}`)
  }
  expect(wrong).toEqual([])
  expect(all.filter(({ shownBy }) => shownBy !== null).length).toBeGreaterThan(10)
})

test('every link between the documents leads somewhere', async () => {
  const broken: string[] = []
  for (const name of globSync(['*.md', 'docs/**/*.md'], { cwd: root })) {
    const text = await readFile(path.join(root, name), 'utf8')
    for (const [, target] of text.matchAll(/\]\((?!https?:|#|mailto:)([^)#]+)(?:#[^)]*)?\)/g)) {
      if (!existsSync(path.resolve(root, path.dirname(name), target!))) broken.push(`${name}: ${target}`)
    }
  }
  expect(broken).toEqual([])
})
