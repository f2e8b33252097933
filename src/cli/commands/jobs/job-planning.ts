/** What a job would do, however it was asked for: asked, and said. Nothing is run. */
import type { PlanView } from '../../../contract/client/client.ts'
import type { Run } from '../../frame/command.ts'
import type { ExitName } from '../../frame/exit-codes.ts'
import { type AskedJob, requestOf } from './job-options.ts'
import { planWords } from './job-words.ts'

/** The plan of a job. */
export async function planOf(run: Run, asked: AskedJob): Promise<PlanView> {
  const { client } = await run.session()
  const body = { job: { request: requestOf(asked) } }
  return await client.call('POST /operation/jobs/plan', { query: asked.query, body })
}

/** Shows the plan; `refused` where the job has no usable entity. */
export async function showPlan(run: Run, plan: PlanView): Promise<ExitName | undefined> {
  await run.out.answer(plan, () => planWords(plan, run.out))
  return plan.error ? 'refused' : undefined
}
