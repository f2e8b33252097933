/** Launching in four steps: what, whom, when, plan. A task is made the same way, with when it repeats. */
import './launch.css'
import '@mantine/core/styles/Pill.layer.css'
import '@mantine/core/styles/PillsInput.layer.css'
import { Button } from '@mantine/core'
import { lazy, Suspense, useEffect, useState } from 'react'
import { Link, useLocation, useParams, useSearchParams } from 'wouter'
import { Icon } from '../../parts/icons.tsx'
import { Page } from '../../parts/page.tsx'
import { Loading } from '../../parts/states.tsx'
import { persistent } from '../../persistent.ts'
import { type Draft, EMPTY, lacksOf } from './draft.ts'
import { forgetDraft, keepDraft, keptDraft } from './kept-draft.ts'

const What = lazy(persistent(() => import('./what.tsx')))
const Whom = lazy(persistent(() => import('./whom.tsx')))
const When = lazy(persistent(() => import('./when.tsx')))
const PlanStep = lazy(persistent(() => import('./plan-step.tsx')))

const STEPS = [
  { key: 'what', name: 'What' },
  { key: 'whom', name: 'Whom' },
  { key: 'when', name: 'When' },
  { key: 'plan', name: 'Plan' },
] as const
type Step = (typeof STEPS)[number]['key']

/** A draft that begins with what the address names: `?type=…&device=…`. */
function begun(params: URLSearchParams, isTask: boolean): Draft {
  const device = params.getAll('device')
  const named = { name: params.get('type') ?? '', ...(device.length > 0 && { list: device }) }
  return { ...EMPTY, ...named, ...(isTask && { target: device.length > 0 ? 'list' : 'filter', stopAfterMin: 60 }) }
}

export default function Launch({ isTask = false }: { readonly isTask?: boolean }) {
  const { step: asked } = useParams<{ step?: string }>()
  const [params] = useSearchParams()
  const [, go] = useLocation()
  const base = isTask ? '/tasks/new' : '/launch'
  const [from] = useState(() => params.toString())
  const [draft, setDraft] = useState<Draft>(() => keptDraft(isTask, from) ?? begun(params, isTask))
  const [isKept, setKept] = useState(true)
  const isBegun = draft.name !== '' || draft.list.length > 0
  useEffect(() => {
    if (isBegun) setKept(keepDraft(isTask, from, draft))
  }, [isTask, from, draft, isBegun])
  const startOver = () => {
    forgetDraft(isTask)
    setDraft(begun(new URLSearchParams(), isTask))
    go(`${base}/what`)
  }
  const known = STEPS.find(each => each.key === asked)?.key ?? 'what'
  const firstLacking = STEPS.find(each => each.key !== 'plan' && lacksOf(draft, each.key, isTask) !== null)?.key
  // An address further on than what is filled in leads to what lacks.
  const step: Step =
    firstLacking && STEPS.findIndex(each => each.key === known) > STEPS.findIndex(each => each.key === firstLacking)
      ? firstLacking
      : known
  const index = STEPS.findIndex(each => each.key === step)
  const lacks = step === 'plan' ? null : lacksOf(draft, step, isTask)
  const change = (part: Partial<Draft>) => setDraft(before => ({ ...before, ...part }))
  const next = STEPS[index + 1]

  return (
    <Page
      title={isTask ? 'New task' : 'Launch a job'}
      above={isTask ? <Link href="/tasks">Tasks</Link> : <Link href="/jobs">Jobs</Link>}
      facts={!isKept && <span className="warn">Too long to be kept when the page is loaded anew.</span>}
      actions={
        isBegun && (
          <Button size="xs" variant="default" onClick={startOver}>
            Start over
          </Button>
        )
      }
    >
      <nav aria-label="Steps">
        <ol className="steps">
          {STEPS.map(({ key, name }, at) => (
            <li key={key}>
              <Link
                href={`${base}/${key}`}
                className={at > index ? 'step step-later' : 'step'}
                aria-current={key === step ? 'step' : undefined}
              >
                <span className="step-number figure">{at + 1}</span>
                {name}
              </Link>
            </li>
          ))}
        </ol>
      </nav>
      <Suspense fallback={<Loading what="the step" />}>
        {step === 'what' && <What draft={draft} change={change} />}
        {step === 'whom' && <Whom draft={draft} change={change} isTask={isTask} />}
        {step === 'when' && <When draft={draft} change={change} isTask={isTask} />}
        {step === 'plan' && <PlanStep draft={draft} isTask={isTask} />}
      </Suspense>
      <div className="row spread">
        {index > 0 ? (
          <Button
            variant="default"
            leftSection={<Icon name="back" size={14} />}
            onClick={() => go(`${base}/${STEPS[index - 1]?.key ?? 'what'}`)}
          >
            Back
          </Button>
        ) : (
          <span />
        )}
        {next && (
          <div className="row">
            {lacks && <span className="quiet">{lacks}</span>}
            <Button
              disabled={lacks !== null}
              rightSection={<Icon name="next" size={14} />}
              onClick={() => go(`${base}/${next.key}`)}
            >
              {next.name}
            </Button>
          </div>
        )}
      </div>
    </Page>
  )
}
