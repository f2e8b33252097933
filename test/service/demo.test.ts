import { execFile, spawn } from 'node:child_process'
import path from 'node:path'
import { promisify } from 'node:util'
import { expect, onTestFinished, test } from 'vitest'

const root = path.resolve(import.meta.dirname, '../..')
const DEMO_MS = 150_000

/** Runs the demo to its end. */
function demo(...options: string[]): Promise<{ code: number; output: string }> {
  const args = ['src/cli/drover.ts', 'demo', ...options]
  return new Promise(resolve => {
    const child = execFile(
      process.execPath,
      args,
      { cwd: root, timeout: DEMO_MS, killSignal: 'SIGTERM' },
      (_, stdout, stderr) => resolve({ code: child.exitCode ?? -1, output: stdout + stderr }),
    )
  })
}

test(
  'the demo ends with 0 when every operation reached a final state and the counters agree',
  async () => {
    const { code, output } = await demo('--devices', '60')
    expect(code, output).toBe(0)
    expect(output).toContain('Every operation reached a final state, and the counters agree with a recount.')
    expect(output).toContain('Callbacks received: jobStarted and jobFinished of job ')
    expect(output).toContain('"status": "FINISHED"')
    expect(output.match(/ENDUPDATE SUCCESSFUL/g)).toHaveLength(5)
  },
  DEMO_MS + 30_000,
)

test(
  'the demo with devices that fail ends with 0 as well: the job says FINISHED_WITH_ERRORS, and the counters agree',
  async () => {
    const { code, output } = await demo('--devices', '60', '--fail', '0.3')
    expect(code, output).toBe(0)
    expect(output).toContain('"status": "FINISHED_WITH_ERRORS"')
    expect(output).toMatch(/"error": [1-9]/)
    expect(output).toContain('FINISHED ERROR_PROCESSING')
    expect(output).toContain('the counters agree with a recount')
  },
  DEMO_MS + 30_000,
)

test(
  'kept running, the demo tells where its console is, who signs in there, and lines that ask it as they stand',
  async () => {
    const child = spawn(process.execPath, ['src/cli/drover.ts', 'demo', '--devices', '20', '--keep'], { cwd: root })
    onTestFinished(() => void (child.exitCode === null && child.kill('SIGTERM')))
    const ended = new Promise<number | null>(resolve => child.once('close', resolve))
    const output = await new Promise<string>(resolve => {
      let told = ''
      const hear = (text: Buffer) => {
        told += text
        if (told.includes('It is kept running until you interrupt it')) resolve(told)
      }
      child.stdout.on('data', hear)
      child.once('close', () => resolve(told))
    })
    const shown = (output.split('open the console and sign in:')[1] ?? '').split('\n').map(line => line.trim())
    const [address = '', email, password] = shown.filter(line => line !== '')
    const page = await fetch(address)
    expect([page.status, page.headers.get('content-type')], output).toEqual([200, expect.stringContaining('text/html')])
    const login = await fetch(new URL('/north/v80/provision/users/login', address), {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ email, password }),
    })
    expect(login.status, output).toBe(200)

    const commands = shown.slice(shown.indexOf('To ask it from another terminal:') + 1, shown.findIndex(isKept))
    const { stdout } = await promisify(execFile)('sh', ['-ec', commands.join('\n')], { cwd: root, timeout: DEMO_MS })
    expect(stdout).toMatch(/UPDATE +FINISHED/)
    child.kill('SIGINT')
    expect(await ended).toBe(0)
  },
  DEMO_MS + 30_000,
)

const isKept = (line: string) => line.startsWith('It is kept running')
