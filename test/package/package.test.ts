/** The packed package: what is in it, and what it does in an empty folder on the machine's own Node. */
import { execFile, spawn } from 'node:child_process'
import { chmod, cp, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'
import { afterAll, describe, expect, test, vi } from 'vitest'
import { compiled } from '../../scripts/compile.ts'
import { buildWhereOld } from '../console/build.ts'
import { startMachine, withoutMachine } from '../deploy/systemd-machine.ts'
import { registryAnswers } from './registry.ts'

const run = promisify(execFile)
const root = path.resolve(import.meta.dirname, '../..')
const folder = await mkdtemp(path.join(tmpdir(), 'drover-package-'))
afterAll(() => rm(folder, { recursive: true, force: true }))

const INSTALL_MS = 300_000

/** The path as it is without this package's own tools: the Node of the machine comes first. */
const machinePath = (process.env.PATH ?? '')
  .split(path.delimiter)
  .filter(each => !each.includes('node_modules'))
  .join(path.delimiter)
const machine = { ...cleanEnvironment(), PATH: machinePath }

/** Without what npm tells the scripts that it runs. */
function cleanEnvironment(): NodeJS.ProcessEnv {
  return Object.fromEntries(
    Object.entries(process.env).filter(
      ([name]) => !/^(npm_(config_prefix|package|lifecycle)|DROVER_|INIT_CWD)/.test(name),
    ),
  )
}

interface Packed {
  readonly filename: string
  readonly files: readonly { readonly path: string }[]
}

async function pack(): Promise<{ file: string; paths: readonly string[] }> {
  await buildWhereOld()
  await run(process.execPath, ['scripts/compile.ts'], { cwd: root })
  const { stdout } = await run('npm', ['pack', '--ignore-scripts', '--json', '--pack-destination', folder], {
    cwd: root,
  })
  const told: Packed[] | Record<string, Packed> = JSON.parse(stdout)
  const [packed] = Object.values(told)
  return { file: path.join(folder, packed!.filename), paths: packed!.files.map(each => each.path) }
}

const packed = await pack()
const prefix = path.join(folder, 'prefix')
// Who the unit runs as reads the packages.
await chmod(folder, 0o755)
const units = path.join(folder, 'units')
await cp(path.join(root, 'deploy/systemd'), units, { recursive: true })

const isInstallable = await registryAnswers()
if (!isInstallable) process.stdout.write('No registry can be reached: the installation of the package is left out.\n')

describe('the packed package', () => {
  test('it carries JavaScript, migrations and the command, and neither sources nor tests', async () => {
    const { paths } = packed
    expect(paths).toEqual(
      expect.arrayContaining([
        'lib/main.js',
        'lib/cli/drover.js',
        'lib/data.js',
        'lib/simulator/main.js',
        'dist/console/index.html',
        'LICENSE',
        'README.md',
        'CHANGELOG.md',
      ]),
    )
    expect(paths.filter(each => /^migrations\/0001_.*\.sql$/.test(each))).toHaveLength(1)
    expect(paths.filter(each => each.endsWith('.ts') || /^(src|test|bench)\//.test(each))).toEqual([])
  })

  test('its files name each other as they are', async () => {
    const scripts = packed.paths.filter(each => each.startsWith('lib/'))
    const texts = await Promise.all(
      scripts.map(async each => [each, await readFile(path.join(root, each), 'utf8')] as const),
    )
    const missing = texts.flatMap(([from, text]) =>
      [...text.matchAll(/(?:from|import)\s*\(?\s*'(\.{1,2}\/[^']+)'/g)]
        .map(([, specifier]) => path.posix.join(path.posix.dirname(from), specifier!))
        .filter(to => to !== 'package.json' && !packed.paths.includes(to)),
    )
    expect(scripts.length).toBeGreaterThan(200)
    expect(missing).toEqual([])
  })

  test('types become blanks, so that every line keeps its number', () => {
    const source = "import type { A } from './a.ts'\nimport { b } from '../b.ts'\nexport const c: A = b as A\n"
    expect(compiled(source).split('\n').slice(1)).toEqual(["import { b } from '../b.js'", 'export const c    = b', ''])
    expect(compiled("new URL('./worker.ts', import.meta.url)")).toBe("new URL('./worker.js', import.meta.url)")
  })

  test.runIf(isInstallable)(
    'installed into an empty folder it helps, serves, runs a job, and backs up what it keeps',
    async () => {
      const options = ['--prefix', prefix, '--no-audit', '--no-fund', '--prefer-offline', '--loglevel', 'error']
      await run('npm', ['install', '--global', ...options, packed.file], { env: machine, timeout: INSTALL_MS })
      const drover = path.join(prefix, 'bin', 'drover')
      const help = await run(drover, ['--help'], { env: machine })
      expect(help.stdout).toContain('Usage: drover')

      const service = await serve(drover)
      try {
        const page = await fetch(`${service.url}/console/`)
        expect([page.status, await page.text()]).toEqual([200, expect.stringContaining('Drover')])
        const env = { ...machine, DROVER_URL: service.url, DROVER_API_KEY: API_KEY }
        const devices = path.join(folder, 'devices.csv')
        await writeFile(devices, 'provision.device.identifier\nmeter-1\n')
        await run(drover, ['devices', 'import', devices], { env })
        const answering = answerOnce(service.url, 'meter-1')
        const job = await run(
          drover,
          ['jobs', 'run', 'REBOOT_EQUIPMENT', '-e', 'meter-1', '--timeout', '60s', '--wait', '--json'],
          { env },
        )
        await answering
        expect(JSON.parse(job.stdout).report.summary).toMatchObject({ status: 'FINISHED', finished: { successful: 1 } })
        // Another program of the package does this, on the database of the service that runs.
        const backup = path.join(folder, 'backup')
        const told = await run(drover, ['backup', backup, '--json'], { env: { ...env, DROVER_DATA_DIR: dataFolder } })
        expect(JSON.parse(told.stdout)).toMatchObject({ file: backup, size: (await stat(backup)).size })
      } finally {
        await service.stop()
      }
    },
    INSTALL_MS + 120_000,
  )

  const missing = withoutMachine()
  if (missing !== null) process.stdout.write(`The unit is not started: ${missing}.\n`)

  test.runIf(isInstallable && missing === null)(
    'systemd starts it by the unit, under its restrictions, starts it again when it is killed, and stops it in order',
    async () => {
      const machine = await startMachine(prefix)
      try {
        const run = (line: string) => {
          const { status, stdout, stderr } = machine.run(line)
          expect(status, `${line}\n${stdout}${stderr}`).toBe(0)
          return stdout.trim()
        }
        const told = (property: string) => run(`systemctl show drover --property=${property} --value`)
        const isReady = () => machine.run(`curl -fsS http://127.0.0.1:8181/health/ready`).status === 0

        const [install, ...setUp] = await unitComment()
        expect(install).toMatch(/^npm install --global --prefix \/opt\/drover /)
        for (const line of setUp.slice(0, -1)) run(`cd '${units}' && ${line}`)
        // What is said there is read: it is served on another port than unless told.
        run("sed -i 's/^DROVER_HOST=.*/DROVER_HOST=127.0.0.1\\nDROVER_PORT=8181/' /etc/drover/drover.env")
        run(`cd '${units}' && ${setUp.at(-1)}`)
        await vi.waitUntil(isReady, { timeout: READY_MS, interval: 500 })

        const first = told('MainPID')
        const status = run(`cat /proc/${first}/status`)
        expect(status).toMatch(/^NoNewPrivs:\s+1$/m)
        expect(status).toMatch(/^Seccomp:\s+2$/m)
        expect(status).toMatch(/^CapBnd:\s+0+$/m)
        expect(run('stat -c "%U %a" /var/lib/drover /var/lib/drover/postgres/data')).toBe('drover 711\ndrover 700')

        run('systemctl kill --kill-who=main --signal=KILL drover')
        await vi.waitUntil(() => told('MainPID') !== first && isReady(), { timeout: READY_MS, interval: 500 })
        expect(told('NRestarts')).toBe('1')

        run('systemctl stop drover')
        expect([told('ActiveState'), told('Result'), told('ExecMainStatus')]).toEqual(['inactive', 'success', '0'])
        expect(run('ls /var/lib/drover/postgres/data')).not.toContain('postmaster.pid')
      } finally {
        await machine.end()
      }
    },
    5 * READY_MS,
  )
})

const READY_MS = 120_000
/** The commands that the unit says at its beginning, one line each. */
async function unitComment(): Promise<string[]> {
  const unit = await readFile(path.join(units, 'drover.service'), 'utf8')
  return [...unit.matchAll(/^# {3}(\S.*)$/gm)].map(([, line]) => line!)
}

const API_KEY = 'a-key-for-the-package'
const dataFolder = path.join(folder, 'data')

async function serve(drover: string): Promise<{ url: string; stop(): Promise<void> }> {
  const child = spawn(drover, ['serve'], {
    env: {
      ...machine,
      DROVER_DATA_DIR: dataFolder,
      DROVER_PORT: '0',
      DROVER_MQTT_PORT: '0',
      DROVER_ADMIN_API_KEY: API_KEY,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const ended = new Promise<void>(resolve => child.once('close', () => resolve()))
  const said: string[] = []
  createInterface({ input: child.stderr }).on('line', line => said.push(line))
  const url = await new Promise<string>((resolve, reject) => {
    void ended.then(() => reject(new Error(`the service ended:\n${said.join('\n')}`)))
    createInterface({ input: child.stdout }).on('line', line => {
      said.push(line)
      const found = /"url":"([^"]+)".*"msg":"ready"/.exec(line)
      if (found) resolve(found[1]!)
    })
  })
  return {
    url,
    async stop() {
      child.kill('SIGTERM')
      await ended
    },
  }
}

/** A device that asks for its work once, and has done it. */
async function answerOnce(url: string, device: string): Promise<void> {
  const headers = { 'x-apikey': API_KEY, 'content-type': 'application/json' }
  const place = `${url}/south/v80/devices/${device}/operation`
  for (;;) {
    const asked = await fetch(`${place}/pending?wait=30`, { headers })
    if (asked.status !== 200) continue
    const { operation } = (await asked.json()) as { operation: { request: { id: string; name: string } } }
    const { id, name } = operation.request
    const response = { id, name, resultCode: 'SUCCESSFUL', steps: [{ name, result: 'SUCCESSFUL' }] }
    await fetch(`${place}/response`, {
      method: 'POST',
      headers,
      body: JSON.stringify({ version: '8.0', operation: { response } }),
    })
    return
  }
}
