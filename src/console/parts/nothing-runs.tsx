/** That a job would run nothing at all, by its plan, and why: said so that nobody takes the plan for one that does something. */
import { Children } from 'react'
import type { PlanView } from '../../contract/client/client.ts'
import { NOTHING_RUNS, nothingRunsWords, whyNothingRuns } from '../../contract/client/plan-words.ts'
import { Instant } from '../figures.tsx'
import { Icon } from './icons.tsx'

/** The warning; nothing where something runs. */
export function NothingRunsBox({ plan }: { readonly plan: PlanView }) {
  if (whyNothingRuns(plan) === null) return null
  return (
    <div className="problem" role="alert">
      <Icon name="warning" size={22} />
      <div>
        <p className="strong">{NOTHING_RUNS}</p>
        <p>{Children.toArray(nothingRunsWords(plan, at => <Instant at={at} />))}</p>
      </div>
    </div>
  )
}
