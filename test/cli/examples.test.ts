/** Every example in the help of every command, run as it stands. */
import { spawn } from 'node:child_process'
import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { type Example, examplesOf } from '../../src/cli/frame/command.ts'
import { processSurroundings } from '../../src/cli/frame/surroundings.ts'
import { createProgram, forAll } from '../../src/cli/program.ts'
import type { JobView, TaskView } from '../../src/contract/client/client.ts'
import { openHouse } from '../service/house.ts'
import { openCommandLine } from './command-line.ts'

const root = path.resolve(import.meta.dirname, '../..')
const house = await openHouse({ DROVER_ADMIN_EMAIL: 'admin@drover.test' })
const cli = await openCommandLine({ DROVER_URL: house.url, DROVER_API_KEY: house.apiKey })
const folder = cli.home
const PROCESS_MS = 240_000

/** Commands that are processes of their own. */
const PROCESSES = ['serve', 'demo', 'simulate', 'prune', 'backup', 'restore']

const examples: Example[] = []
forAll(createProgram(processSurroundings()), command => void examples.push(...examplesOf(command)))
const named = (names: readonly string[]) =>
  examples.filter(({ line }) => names.includes(/drover (\S+)/.exec(line)?.[1] ?? ''))
const ofProcesses = named(PROCESSES)
const ofShells = examples.filter(({ line }) => line.startsWith('source '))
const ofClients = examples.filter(example => !ofProcesses.includes(example) && !ofShells.includes(example))

const variables: Record<string, string> = { DROVER_URL: house.url, HOME: folder }

/** Two devices that ask for work and do it, as long as the test lasts. */
async function devicesAtWork(): Promise<void> {
  let isOver = false
  afterAll(() => {
    isOver = true
  })
  for (const device of ['meter-1', 'meter-2']) {
    const key = await house.provision(device, { 'provision.administration.tags': ['meters'] })
    void (async () => {
      while (!isOver) {
        const asked = await house.south<{ operation: { request: { id: string } } }>(
          device,
          key,
          'operation/pending?wait=1',
        )
        if (asked.status !== 200) continue
        const { id } = asked.body.operation.request
        const response = { id, resultCode: 'SUCCESSFUL' }
        await house.south(device, key, 'operation/response', { version: '8.0', operation: { response } })
      }
    })().catch(() => {})
  }
}

async function answer<T>(...args: string[]): Promise<T> {
  const { stdout, stderr, code } = await cli.run([...args, '--json'])
  expect([code, stderr]).toEqual([0, ''])
  return JSON.parse(stdout)
}

beforeAll(async () => {
  await chmod(folder, 0o711)
  await devicesAtWork()
  for (const device of ['asleep', 'away']) await house.provision(device)
  const run = (...args: string[]) => answer<JobView>('jobs', 'run', 'REFRESH_INFO', '--timeout', '60s', ...args)
  const done = await run('-e', 'meter-1', '--callback', 'http://127.0.0.1:9/nobody', '--wait')
  const [running, doomed] = [await run('-e', 'asleep'), await run('-e', 'asleep', '--inactive')]
  const failed = await run('-e', 'away', '--stop', '1s')
  await cli.run(['jobs', 'watch', failed.id])
  const task = (id: string) =>
    answer<TaskView>(
      'tasks',
      'create',
      'REFRESH_INFO',
      '-e',
      'asleep',
      '--timeout',
      '60s',
      '--every',
      '1h',
      '--stop',
      '30m',
      '--id',
      id,
    )
  await Promise.all([task('nightly'), task('doomed')])
  const [operation] = await answer<{ operations: { operationId: string }[] }>(
    'search',
    'history',
    '--where',
    `jobId=${done.id}`,
  ).then(row => [row])
  for (const email of ['colleague@example.com', 'leaver@example.com']) {
    const user = { email, password: 'a good password', profile: 'viewer' }
    expect((await house.call('POST', '/north/v80/provision/users', { user })).status).toBe(201)
  }
  const deliveries = await answer<{ id: string }[]>('deliveries', 'list', '--job', done.id)
  Object.assign(variables, {
    JOB: done.id,
    RUNNING_JOB: running.id,
    FAILED_JOB: failed.id,
    JOB_TO_CANCEL: doomed.id,
    TASK: 'nightly',
    TASK_TO_DELETE: 'doomed',
    OPERATION: (operation as unknown as { operationId: string }).operationId,
    DELIVERY: deliveries[0]!.id,
  })
  const device = (id: string) => ({ 'provision.device.identifier': id })
  const changes = [{ ...device('meter-1'), 'provision.device.name': 'Meter one' }]
  const files: Record<string, string> = {
    'devices.txt': 'meter-1\nmeter-2\n',
    'devices.csv': 'provision.device.identifier;provision.device.name\nnew-1;New\nnew-2;New\n',
    'changes.json': JSON.stringify({ entities: changes }),
    'changes.ndjson': JSON.stringify(changes[0]),
    'password.txt': `${house.password}\n`,
    'update.json': JSON.stringify({
      bundleName: 'meter-firmware',
      bundleVersion: '2.0',
      deploymentElements: [
        {
          name: 'firmware',
          version: '2.0',
          type: 'FIRMWARE',
          downloadUrl: 'http://127.0.0.1/f.bin',
          path: '/f.bin',
          order: 1,
          operation: 'INSTALL',
        },
      ],
    }),
    'blink.json': JSON.stringify({
      name: 'BLINK',
      title: 'Blink',
      applicableTo: ['entity.device'],
      parameters: { type: 'object' },
    }),
  }
  await Promise.all(Object.entries(files).map(([name, text]) => writeFile(path.join(folder, name), text)))
})

/** The words of a line as a shell reads them, as far as examples go: quotes, variables, and streams from and to files. */
function shellWords(line: string): { args: string[]; from?: string; to?: string } {
  const words = [...line.matchAll(/(?:"[^"]*"|'[^']*'|[^\s"'])+/g)].map(([word]) =>
    word
      .split(/('[^']*')/)
      .map(part =>
        part.startsWith("'")
          ? part.slice(1, -1)
          : part.replaceAll('"', '').replace(/\$(\w+)/g, (_, name) => variables[name] ?? `unknown-${name}`),
      )
      .join(''),
  )
  const target = (sign: string) => (words.includes(sign) ? words[words.indexOf(sign) + 1] : undefined)
  const [from, to] = [target('<'), target('>')]
  const end = words.findIndex(word => word === '<' || word === '>')
  return { args: words.slice(1, end < 0 ? undefined : end), ...(from && { from }), ...(to && { to }) }
}

test.each(ofClients)('$line', async ({ line }) => {
  const before = process.cwd()
  process.chdir(folder)
  onTestFinished(() => process.chdir(before))
  const { args, from, to } = shellWords(line)
  const stdin = from ? await readFile(from, 'utf8') : `${house.password}\n`
  const { code, stdout, stderr } = await cli.run(args, { stdin, terminal: from === undefined })
  expect(code, stderr).toBe(0)
  if (to) await writeFile(to, stdout)
  expect(stdout).not.toBe('')
})

test.each(ofShells)('$line', async ({ line }) => {
  const script = `${line}\nCOMP_WORDS=(drover jobs r)\nCOMP_CWORD=2\n_drover\necho "\${COMPREPLY[@]}"`
  expect(await shell(script)).toBe('run retry resume\n')
})

/** Runs a script in a real shell in which `drover` is this one. */
async function shell(script: string, environment: Record<string, string> = {}): Promise<string> {
  const bin = path.join(folder, 'bin')
  await mkdir(bin, { recursive: true })
  const command = `#!/bin/sh\nexec '${process.execPath}' '${path.join(root, 'src/cli/drover.ts')}' "$@"\n`
  await writeFile(path.join(bin, 'drover'), command, { mode: 0o755 })
  const env = {
    ...process.env,
    PATH: `${bin}:${process.env.PATH}`,
    HOME: folder,
    DROVER_LOG_LEVEL: 'info',
    DROVER_PORT: '0',
    DROVER_MQTT_PORT: '0',
    DROVER_API_KEY: house.apiKey,
    DROVER_URL: house.url,
    MQTT: house.mqtt,
    ...environment,
  }
  return await new Promise((resolve, reject) => {
    const child = spawn('bash', ['-c', script.startsWith('drover ') ? `exec ${script}` : script], {
      cwd: folder,
      env,
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    const timer = setTimeout(() => child.kill('SIGTERM'), PROCESS_MS)
    let [stdout, stderr] = ['', '']
    createInterface({ input: child.stderr }).on('line', text => {
      stderr += `${text}\n`
    })
    let isStopped = false
    child.stdout.on('data', data => {
      stdout += data
      // A service and a fleet have shown what they can once they are ready. A second signal would not let them stop in order.
      if (!isStopped && /"msg":"ready"|^\{"ready"/m.test(stdout)) isStopped = child.kill('SIGTERM')
    })
    child.once('close', code => {
      clearTimeout(timer)
      if (code === 0) resolve(stdout)
      else reject(new Error(`${script} ended with ${code}:\n${stdout}${stderr}`))
    })
  })
}

/** In this order: what a service leaves in its folder is backed up, and restored into another. */
test.each(ofProcesses.toSorted((a, b) => place(a) - place(b)))(
  '$line',
  async ({ line }) => {
    const data = line.includes('restore') ? 'restored' : 'data'
    expect(await shell(line, { DROVER_DATA_DIR: path.join(folder, data) })).not.toBe('')
  },
  PROCESS_MS + 30_000,
)

function place({ line }: Example): number {
  return PROCESSES.indexOf(/drover (\S+)/.exec(line)?.[1] ?? '')
}
