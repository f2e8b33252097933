/** That a job would run nothing at all, by its plan, and why: said so that nobody takes the plan for one that does something. */
import { Children } from 'react'
import type { PlanView } from '../../contract/client/client.ts'
import {
  NOTHING_RUNS,
  NOTHING_RUNS_ACTIVATED,
  nothingRunsWords,
  whyNothingRuns,
} from '../../contract/client/plan-words.ts'
import { Instant } from '../figures.tsx'
import { Icon } from './icons.tsx'

/** The warning; nothing where something runs. A job that is not launched yet is planned as if it were activated now. */
export function NothingRunsBox({
  plan,
  isLaunched = true,
}: {
  readonly plan: PlanView
  readonly isLaunched?: boolean
}) {
  if (whyNothingRuns(plan) === null) return null
  return (
    <div className="problem" role="alert">
      <Icon name="warning" size={22} />
      <div>
        <p className="strong">{isLaunched ? NOTHING_RUNS : NOTHING_RUNS_ACTIVATED}</p>
        <p>{Children.toArray(nothingRunsWords(plan, at => <Instant at={at} />))}</p>
      </div>
    </div>
  )
}
