/** Says what a job would do, however it was asked for. Nothing is run. */
import type { Run } from '../../frame/command.ts'
import type { ExitName } from '../../frame/exit-codes.ts'
import { type AskedJob, requestOf } from './job-options.ts'
import { planWords } from './job-words.ts'

/** Shows the plan; `refused` where the job has no usable entity. */
export async function planJob(run: Run, asked: AskedJob): Promise<ExitName | undefined> {
  const { client } = await run.session()
  const body = { job: { request: requestOf(asked) } }
  const plan = await client.call('POST /operation/jobs/plan', { query: asked.query, body })
  await run.out.answer(plan, () => planWords(plan, run.out))
  return plan.error ? 'refused' : undefined
}
