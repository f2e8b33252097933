/** Every command and every request in the documents, run in order against a service of its own. */
import { spawnSync } from 'node:child_process'
import { existsSync, globSync } from 'node:fs'
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openHouse } from '../service/house.ts'
import { asExpression, commandBlocks, runBlocks } from './document.ts'

const root = path.resolve(import.meta.dirname, '../..')
const documents = globSync(['README.md', 'docs/*.md', 'docs/guides/*.md'], { cwd: root }).sort()
const texts = new Map(
  await Promise.all(documents.map(async name => [name, await readFile(path.join(root, name), 'utf8')] as const)),
)
const withCommands = documents.filter(name => commandBlocks(texts.get(name)!).length > 0)

/** What a document may use and a bare machine may not have, beside curl: a document that does is left out there, with a printed word. */
const needed = ['curl', 'mosquitto']
const isThere = (command: string) =>
  spawnSync(command === 'mosquitto' ? 'mosquitto_sub' : command, ['--help']).error === undefined

/** How long the commands of one document may take: each of the command line starts a Node. */
const RUN_MS = 300_000

const bin = await mkdtemp(path.join(tmpdir(), 'drover-docs-'))
afterAll(() => rm(bin, { recursive: true, force: true }))
await writeFile(
  path.join(bin, 'drover'),
  `#!/bin/sh\nexec '${process.execPath}' '${path.join(root, 'src/cli/drover.ts')}' "$@"\n`,
)
await chmod(path.join(bin, 'drover'), 0o755)

describe.each(withCommands)('%s', name => {
  const blocks = commandBlocks(texts.get(name)!)
  const missing = needed.filter(command => texts.get(name)!.includes(command) && !isThere(command))
  if (missing.length > 0) process.stdout.write(`skipped without ${missing.join(', ')}: the commands of ${name}\n`)

  let house: Awaited<ReturnType<typeof openHouse>>
  beforeAll(async () => {
    house = await openHouse()
  })

  test.skipIf(missing.length > 0)(
    'its commands do what it says, on a service of their own',
    async () => {
      const { url, mqtt, apiKey } = house
      const run = blocks.filter(({ shownBy }) => shownBy === null)
      const { code, printed, stderr } = await runBlocks(run, {
        cwd: root,
        timeoutMs: RUN_MS,
        env: {
          DROVER_URL: url,
          DROVER_API_KEY: apiKey,
          MQTT: mqtt,
          MQTT_PORT: new URL(mqtt).port,
          PATH: `${bin}:${path.dirname(process.execPath)}:${process.env.PATH}`,
        },
      })
      const stoppedAt = run[printed.length - 1]
      expect(code, `line ${stoppedAt?.line}: ${stoppedAt?.commands}\n${printed.at(-1)}\n${stderr}`).toBe(0)
      for (const [index, { line, prints }] of run.entries()) {
        if (prints !== null) expect(printed[index], `line ${line}`).toMatch(asExpression(prints))
      }
    },
    RUN_MS + 30_000,
  )
})

test('what is said to be shown by another test is shown by one that exists', () => {
  const shown = documents.flatMap(name => commandBlocks(texts.get(name)!).flatMap(({ shownBy }) => shownBy ?? []))
  expect(shown.filter(file => !existsSync(path.join(root, file)))).toEqual([])
})

test('a page that is not run here names the test that runs each of its commands', async () => {
  // The page of the command line is printed from examples that are run as they stand.
  const others = globSync('docs/*/**/*.md', { cwd: root }).filter(
    name => !documents.includes(name) && name !== 'docs/reference/command-line.md',
  )
  const blocks = await Promise.all(
    others.map(async name =>
      commandBlocks(await readFile(path.join(root, name), 'utf8')).map(block => ({ name, ...block })),
    ),
  )
  const without = blocks.flat().filter(({ shownBy }) => shownBy === null || !existsSync(path.join(root, shownBy)))
  expect(without.map(({ name, line }) => `${name}:${line}`)).toEqual([])
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
