/** That a job would run nothing at all, by its plan, and why: said so that nobody takes the plan for one that does something. */
import type { ReactNode } from 'react'
import type { PlanView } from '../../contract/client/client.ts'
import { count, counted, Instant } from '../figures.tsx'
import { Icon } from './icons.tsx'

/** Why nothing of a plan runs: it has no device, or its stop comes before its first launch. */
export type NothingRuns = 'noDevice' | 'stopsFirst'

/** Why nothing runs; null where something does. */
export function whyNothingRuns({ target, launch }: Pick<PlanView, 'target' | 'launch'>): NothingRuns | null {
  if (target.total === 0) return 'noDevice'
  return launch.notLaunched === target.total ? 'stopsFirst' : null
}

/** The warning; nothing where something runs. `besides` follows the reason. */
export function NothingRunsBox({ plan, besides }: { readonly plan: PlanView; readonly besides?: ReactNode }) {
  const why = whyNothingRuns(plan)
  if (!why) return null
  return (
    <div className="problem" role="alert">
      <Icon name="warning" size={22} />
      <div>
        <p className="strong">Nothing would run.</p>
        <p>{why === 'noDevice' ? <NoDevice plan={plan} /> : <StopsFirst plan={plan} />}</p>
        {besides}
      </div>
    </div>
  )
}

function NoDevice({ plan: { target } }: { readonly plan: PlanView }) {
  const refused = target.refusals.reduce((sum, each) => sum + each.count, 0)
  if (refused === 0) return 'The target finds no device that the operation applies to.'
  return `Of what the target names, all is refused: ${target.refusals.map(each => `${count(each.count)} ${WORDS[each.reason]}`).join(', ')}.`
}

const WORDS = { notProvisioned: 'not provisioned', notAllowed: 'not allowed', duplicated: 'named twice' }

function StopsFirst({ plan: { target, launch, scattering } }: { readonly plan: PlanView }) {
  return (
    <>
      The stop, at <Instant at={launch.stopDate} />, would cancel {allOf(target.total)} before the first launch
      {scattering.effectiveMs === 0 && ': the window does not open between the start and the stop'}.
    </>
  )
}

const allOf = (total: number) => (total === 1 ? 'the one operation' : `all ${counted(total, 'operation')}`)
