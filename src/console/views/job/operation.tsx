/** One operation: where it stands and why, and its attempts and steps in time. */
import { ActionIcon } from '@mantine/core'
import { useState } from 'react'
import { Link, useLocation } from 'wouter'
import type { OperationView, StepView } from '../../../contract/client/client.ts'
import { Instant, Since, span } from '../../figures.tsx'
import { useAsked } from '../../live.ts'
import { AsOf } from '../../parts/as-of.tsx'
import { CurlButton } from '../../parts/curl.tsx'
import { Icon } from '../../parts/icons.tsx'
import { Panel } from '../../parts/page.tsx'
import { Failed, Loading } from '../../parts/states.tsx'
import { OperationStatus, Status } from '../../parts/status.tsx'
import { asking } from '../../request.ts'

interface Props {
  readonly jobId: string
  readonly operationId: string
  /** where closing leads */
  readonly back: string
  readonly isLive: boolean
}

export function OperationPanel({ jobId, operationId, back, isLive }: Props) {
  const [, go] = useLocation()
  const path = { jobId, operationId }
  const asked = asking('GET /operation/jobs/{jobId}/operations/{operationId}', { path })
  const found = useAsked(asked, { live: isLive })
  const operation = found.data
  return (
    <Panel
      title={operation ? operation.entityId : 'Operation'}
      className="operation"
      facts={
        operation && (
          <span className="row">
            <OperationStatus of={operation} />
            <AsOf of={found} live={isLive} />
          </span>
        )
      }
      actions={
        <>
          <CurlButton ask={asked} what="This operation" />
          <ActionIcon variant="default" size={30} aria-label="Close the operation" onClick={() => go(back)}>
            <Icon name="close" />
          </ActionIcon>
        </>
      }
    >
      {found.isError && !operation && <Failed error={found.error} />}
      {found.isPending && <Loading what="the operation" />}
      {operation && <Operation key={operationId} operation={operation} {...path} />}
    </Panel>
  )
}

/** What is opened is looked at: where it does not begin in sight, it comes to the top. */
function bringIntoSight(place: HTMLElement | null): void {
  const panel = place?.closest('.operation')
  const { top } = panel?.getBoundingClientRect() ?? { top: 0 }
  if (top < 0 || top > innerHeight / 2) panel?.scrollIntoView({ block: 'start' })
}

function Operation({
  operation,
  jobId,
  operationId,
}: {
  readonly operation: OperationView
  readonly jobId: string
  readonly operationId: string
}) {
  const isOpen = operation.result === 'OPERATION_PENDING'
  return (
    <div className="stack" ref={bringIntoSight}>
      <dl className="facts">
        <dt>Device</dt>
        <dd>
          <Link href={`/devices/${encodeURIComponent(operation.entityId)}`}>{operation.entityId}</Link>
        </dd>
        {!isOpen && (
          <>
            <dt>Result</dt>
            <dd>
              <Status word={operation.result} />
            </dd>
          </>
        )}
        {operation.description !== '' && (
          <>
            <dt>Description</dt>
            <dd>{operation.description}</dd>
          </>
        )}
        <dt>Attempt</dt>
        <dd className="figure">
          {operation.attempts.current} of {operation.attempts.total}
        </dd>
      </dl>
      {isOpen && <Why jobId={jobId} operationId={operationId} />}
      <Timeline operation={operation} />
      <Messages jobId={jobId} operationId={operationId} />
    </div>
  )
}

/** Why the operation is where it is, and what will move it next. */
function Why({ jobId, operationId }: { readonly jobId: string; readonly operationId: string }) {
  const asked = asking('GET /operation/jobs/{jobId}/operations/{operationId}/why', { path: { jobId, operationId } })
  const found = useAsked(asked, { live: true })
  return (
    <section className="why" aria-label="Why it is where it is">
      <div className="row spread">
        <h3>Why</h3>
        <span className="small grow">
          <AsOf of={found} />
        </span>
        <CurlButton ask={asked} what="Why" />
      </div>
      {found.isError && <Failed error={found.error} />}
      {found.data && (
        <>
          <ul className="why-list">
            {found.data.held.map(each => (
              <li key={each.gate}>
                {each.reason}
                {each.liftsAt && (
                  <span className="quiet">
                    {' '}
                    Opens <Since at={each.liftsAt} />.
                  </span>
                )}
              </li>
            ))}
            {found.data.held.length === 0 && <li>Nothing holds it.</li>}
          </ul>
          {found.data.next.length > 0 && (
            <>
              <h4>Next</h4>
              <ul className="why-list">
                {found.data.next.map(each => (
                  <li key={each.event + each.words}>
                    {each.words}
                    {each.at && (
                      <span className="quiet">
                        {' '}
                        <Since at={each.at} />
                      </span>
                    )}
                  </li>
                ))}
              </ul>
            </>
          )}
        </>
      )}
    </section>
  )
}

interface Attempt {
  readonly attempt: number
  readonly startedDate: string
  readonly finishedDate: string
  readonly result: string | null
  readonly description: string
  readonly steps: readonly StepView[]
}

/** Every attempt of an operation, the present one last. */
function attemptsOf({ attempts, execution, result, description, steps }: OperationView): Attempt[] {
  const past = (attempts.history ?? []).map(each => ({ ...each, description: each.description ?? '' }))
  if (attempts.current === 0) return past
  const present = {
    attempt: attempts.current,
    startedDate: past.length === 0 ? execution.startedDate : (past.at(-1)?.finishedDate ?? ''),
    finishedDate: execution.finishedDate,
    result: result === 'OPERATION_PENDING' ? null : result,
    description,
    steps,
  }
  return past.some(each => each.attempt === attempts.current) ? past : [...past, present]
}

function Timeline({ operation }: { readonly operation: OperationView }) {
  const attempts = attemptsOf(operation)
  return (
    <section aria-label="Timeline">
      <h3>Timeline</h3>
      <ol className="timeline">
        <li>
          <Instant at={operation.date} />
          <span>Activated with its job</span>
        </li>
        {attempts.map(each => (
          <AttemptRows key={each.attempt} attempt={each} of={attempts.length} />
        ))}
        {attempts.length === 0 && (
          <li>
            <span className="quiet">not yet</span>
            <span className="quiet">Not launched</span>
          </li>
        )}
      </ol>
    </section>
  )
}

function AttemptRows({ attempt, of }: { readonly attempt: Attempt; readonly of: number }) {
  const { startedDate, finishedDate, result, description, steps } = attempt
  const took = Date.parse(finishedDate) - Date.parse(startedDate)
  return (
    <>
      <li className="timeline-head">
        <Instant at={startedDate} />
        <span className="strong">
          {of > 1 || attempt.attempt > 1 ? `Attempt ${attempt.attempt} launched` : 'Launched'}
        </span>
      </li>
      {steps.map(step => (
        <li key={step.name + step.timestamp}>
          <Instant at={step.timestamp} />
          <span>
            <Status word={step.result} /> {step.title ?? step.name}
            {step.description && <span className="quiet"> {step.description}</span>}
            {step.response !== undefined && (
              <details className="more">
                <summary>What the device answered</summary>
                <pre className="code">{JSON.stringify(step.response, null, 2)}</pre>
              </details>
            )}
          </span>
        </li>
      ))}
      {finishedDate !== '' && (
        <li>
          <Instant at={finishedDate} />
          <span>
            {result && <Status word={result} />} {description}
            {took > 0 && <span className="quiet figure"> after {span(took)}</span>}
          </span>
        </li>
      )}
    </>
  )
}

/** The messages of the device as they came; read when they are wanted. */
function Messages({ jobId, operationId }: { readonly jobId: string; readonly operationId: string }) {
  const [open, setOpen] = useState(false)
  const path = { jobId, operationId }
  const asked = asking('GET /operation/jobs/{jobId}/operations/{operationId}/messages', { path })
  const found = useAsked(asked, { enabled: open })
  const { messages = [], filed = [] } = found.data ?? {}
  return (
    <details className="more" onToggle={event => setOpen(event.currentTarget.open)}>
      <summary>Raw messages</summary>
      <div className="stack">
        {found.isError && <Failed error={found.error} />}
        {found.data && messages.length + filed.length === 0 && <p className="quiet">The device has sent none.</p>}
        {messages.map(({ date, attempt, raw }) => (
          <Raw key={date + raw} date={date} words={`attempt ${attempt}`} raw={raw} />
        ))}
        {filed.map(({ date, reason, raw }) => (
          <Raw key={date + raw} date={date} words={`changed nothing: ${reason}`} raw={raw} />
        ))}
        {found.data && <CurlButton ask={asked} what="Messages" />}
      </div>
    </details>
  )
}

function Raw({ date, words, raw }: { readonly date: string; readonly words: string; readonly raw: string }) {
  return (
    <div>
      <p className="small quiet">
        <Instant at={date} />, {words}
      </p>
      <pre className="code">{indented(raw)}</pre>
    </div>
  )
}

/** JSON with its lines apart; anything else as it came. */
function indented(raw: string): string {
  try {
    return JSON.stringify(JSON.parse(raw), null, 2)
  } catch {
    return raw
  }
}
