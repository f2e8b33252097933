import { execFile } from 'node:child_process'
import path from 'node:path'
import { expect, test } from 'vitest'
import { parseJobId } from '../../src/domain/identity.ts'
import { sql } from '../../src/store/statement.ts'
import { openHouse } from '../service/house.ts'

const root = path.resolve(import.meta.dirname, '../..')
const RUN_MS = 60_000
const house = await openHouse()

/** Runs the command to its end, as an operator does. */
function verify(...options: string[]): Promise<{ code: number; stdout: string; stderr: string }> {
  const args = ['src/cli/drover.ts', 'verify', ...options]
  return new Promise(resolve => {
    const child = execFile(process.execPath, args, { cwd: root, timeout: RUN_MS }, (_, stdout, stderr) =>
      resolve({ code: child.exitCode ?? -1, stdout, stderr }),
    )
  })
}

test(
  'verify tells what the rows of jobs contradict, in a table or as JSON, and ends with 1 instead of 0',
  async () => {
    await house.provision('meter-1')
    const job = await house.start('meter-1', { active: false })
    await house.start('meter-1', { active: false })
    const service = ['--url', house.url, '--api-key', house.apiKey]
    const fine = await verify(...service)
    expect(fine).toEqual({ code: 0, stdout: '2 jobs verified: the counters agree with the rows.\n', stderr: '' })

    await house.database.query(sql`insert into job_counter_delta (job, scheduled) values (${parseJobId(job)!}, 2)`)
    const [words, json] = await Promise.all([verify(...service), verify(...service, '--json')])
    expect(words.stdout).toMatch(new RegExp(`│ ${job} +│ scheduled +│ 3 +│ 1 +│`))
    expect(words.stdout).toContain('2 jobs verified, 1 difference.')
    expect(JSON.parse(json.stdout)).toEqual({
      jobs: 2,
      differences: [{ kind: 'counter', jobId: job, counter: 'scheduled', counted: 3, rows: 1 }],
      complete: true,
    })
    expect([words.code, json.code]).toEqual([1, 1])
  },
  RUN_MS * 2,
)

test(
  'verify ends with 2 when the service refuses, and with 3 when it cannot be reached',
  async () => {
    const [refused, away] = await Promise.all([
      verify('--url', house.url, '--api-key', 'not-a-key'),
      verify('--url', 'http://127.0.0.1:1', '--api-key', house.apiKey),
    ])
    expect([refused.code, away.code]).toEqual([2, 3])
    expect(refused.stderr).toContain('GET /north/v80/operation/verify')
    expect(away.stderr).toContain('The service at http://127.0.0.1:1 cannot be reached')
  },
  RUN_MS * 2,
)
