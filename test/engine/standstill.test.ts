/** A process that is stopped with SIGSTOP while it is in the launch gate holds nobody up. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import path from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { testDatabase } from '../database.ts'
import { sentTo, silent, summaryOfJob } from './scenario.ts'
import { createWorkbench, jobRequest } from './workbench.ts'

const LONG_MS = 120_000
const { database, url } = await testDatabase()
const bench = await createWorkbench(database)
bench.device = silent
const stopped: ChildProcess[] = []
afterAll(() => {
  for (const child of stopped) child.kill('SIGKILL')
})

/** Resolves when a process that is in the gate, as a claim is or as a pause is, stands still; one that reads does so in an answer. */
async function standsStillIn(way: 'claim' | 'pause' | 'read'): Promise<void> {
  const child = spawn(process.execPath, [path.join(import.meta.dirname, 'standing-process.ts'), url, way], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  stopped.push(child)
  await once(child.stdout!, 'data')
  child.kill('SIGSTOP')
}

const jobOf = async (device: string) => {
  await bench.provision([device])
  return (await bench.jobs.create(bench.caller, jobRequest({ target: { append: { entities: [device] } } }))).job
}

test.each(['claim', 'pause', 'read'] as const)(
  'a %s that stands still delays neither a pause, nor a cancel, nor the jobs of others',
  {
    timeout: LONG_MS,
  },
  async way => {
    const [paused, cancelled, other] = [await jobOf(`${way}-0`), await jobOf(`${way}-1`), await jobOf(`${way}-2`)]
    bench.sent.length = 0
    await standsStillIn(way)
    const [pause, cancel] = await Promise.all([
      bench.jobs.change(bench.caller, paused, { active: false }),
      bench.jobs.cancel(bench.caller, cancelled),
      bench.engine.loops.get('operation-dispatcher')!.runOnce(bench.clock.now()),
    ])
    expect([pause.status, cancel.status]).toEqual(['PAUSED', expect.stringContaining('CANCEL')])
    await bench.settle()
    expect((await summaryOfJob(bench, cancelled)).status).toBe('CANCELLED')
    expect(sentTo(bench)).toContain(`${way}-2`)
    expect((await summaryOfJob(bench, other)).status).toBe('IN_PROGRESS')
  },
)
