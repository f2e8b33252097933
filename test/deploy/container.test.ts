import { execFile, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { access, chmod, cp, mkdtemp, readFile, rm, stat, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'
import { validate } from 'dockerfile-utils'
import { afterAll, expect, test } from 'vitest'
import { readConfig, unknownVariables } from '../../src/config/config.ts'
import { freePort } from '../../src/store/postmaster.ts'
import { registryAnswers } from '../package/registry.ts'
import { instructionsOf } from './dockerfile.ts'

/** Packages are fetched, the console is built. */
const REPLAY_MS = 900_000

const root = path.resolve(import.meta.dirname, '../..')
const dockerfile = await readFile(path.join(root, 'Dockerfile'), 'utf8')
const folder = await mkdtemp(path.join(tmpdir(), 'drover-image-'))
await chmod(folder, 0o711)
afterAll(() => rm(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 }))

/** Every instruction, and those of the last stage. */
const stage = instructionsOf(dockerfile)
const last = stage.slice(stage.findLastIndex(([word]) => word === 'FROM'))
const argumentsOf = (word: string) => last.filter(([each]) => each === word).map(([, argument]) => argument)
const environment = Object.fromEntries(
  argumentsOf('ENV').flatMap(text => text.split(/\s+/).map(pair => pair.split('=') as [string, string])),
)

test('the Dockerfile is well formed', () => {
  expect(validate(dockerfile)).toEqual([])
})

test('its image runs as somebody who is not root, says whether it is well, and sets variables that the service knows', () => {
  expect(argumentsOf('USER')).toEqual(['node'])
  expect(argumentsOf('HEALTHCHECK')).toHaveLength(1)
  expect(unknownVariables(environment)).toEqual([])
  expect(readConfig(environment)).toMatchObject({ host: '0.0.0.0', dataDir: '/data' })
})

test('Node in the image is of the version that the tests run on', () => {
  const versions = stage.filter(([word]) => word === 'FROM').map(([, image]) => /^node:(\d+)-/.exec(image)?.[1])
  expect(versions).toEqual([process.versions.node.split('.')[0], process.versions.node.split('.')[0]])
})

const canMount =
  process.getuid?.() === 0 && spawnSync('unshare', ['--mount', '--net', '--pid', '--fork', 'true']).status === 0
const canReplay = canMount && (await registryAnswers())
if (!canReplay) process.stdout.write('Not root, or no registry: the lines of the Dockerfile are read, not done.\n')

test.runIf(canReplay)(
  'every line of it, done on this machine, comes to a service that is well, knows its command line and stops in order as its user',
  async () => {
    const replay = path.join(import.meta.dirname, 'replay-dockerfile.ts')
    const { stdout } = await promisify(execFile)(process.execPath, [replay], { maxBuffer: 10_000_000 })
    for (const [word, argument] of stage) expect(stdout).toContain(`== ${word} ${argument}`)
    expect(stdout).toMatch(/"msg":"ready".*== well.*\d+\.\d+\.\d+.*== stopped in order\n$/s)
  },
  REPLAY_MS,
)

test.skipIf(canReplay)(
  'what the last stage copies is enough to run the service, the health check and the command line',
  async () => {
    const app = path.join(folder, 'app')
    for (const copied of argumentsOf('COPY')) {
      const [to, ...from] = copied.replace('--from=build ', '').split(' ').toReversed()
      for (const each of from) {
        const source = path.join(root, each.replace(/^\/app\//, ''))
        // The console is built by npm; a checkout without it serves everything else.
        if (each.endsWith('/dist') && !(await exists(source))) continue
        const target = path.join(app, to!, from.length > 1 ? path.basename(each) : '')
        if (each.endsWith('/node_modules')) await symlink(await realFolder(source), target)
        else await cp(source, target, { recursive: true })
      }
    }
    const port = await freePort()
    const data = path.join(folder, 'data')
    const env = {
      PATH: process.env.PATH,
      ...environment,
      DROVER_DATA_DIR: data,
      DROVER_HOST: '127.0.0.1',
      DROVER_PORT: String(port),
      DROVER_MQTT_PORT: '0',
    }
    const [, command] = JSON.parse(argumentsOf('CMD')[0]!) as [string, string]
    const service = spawn(process.execPath, [command], { cwd: app, env, stdio: ['ignore', 'pipe', 'inherit'] })
    const ended = once(service, 'close')
    try {
      for await (const chunk of service.stdout) if (String(chunk).includes('"msg":"ready"')) break
      service.stdout.resume()
      const [, check] = /CMD (\[.*\])$/.exec(argumentsOf('HEALTHCHECK')[0]!)!
      const [, ...args] = JSON.parse(check!) as string[]
      const well = (variables: object) => spawnSync(process.execPath, args, { env: { ...env, ...variables } }).status
      expect([well({}), well({ DROVER_PORT: '1' })]).toEqual([0, 1])
      const cli = spawnSync(process.execPath, ['src/cli/drover.ts', '--help'], { cwd: app, env, encoding: 'utf8' })
      expect([cli.status, cli.stdout]).toEqual([0, expect.stringContaining('backup')])
    } finally {
      service.kill('SIGTERM')
      expect((await ended)[0]).toBe(0)
    }
  },
  180_000,
)

const exists = (file: string) =>
  access(file).then(
    () => true,
    () => false,
  )

async function realFolder(file: string): Promise<string> {
  expect((await stat(file)).isDirectory()).toBe(true)
  return file
}
