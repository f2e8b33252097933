import { execFile } from 'node:child_process'
import path from 'node:path'
import { expect, test } from 'vitest'

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
