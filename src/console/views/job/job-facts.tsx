/** What a job was asked for: its request in the words of the interface, and what was refused of its target. */
import type { ReactNode } from 'react'
import type { JobView } from '../../../contract/client/client.ts'
import { counted, Instant, span } from '../../figures.tsx'
import { Fact } from '../../parts/fact.tsx'
import { Panel } from '../../parts/page.tsx'
import { refusedCount } from '../../words.ts'
import { TaskLink } from './task-link.tsx'
import { windowWords } from './window-words.ts'

interface Moment {
  readonly date?: string
  readonly delayed?: number
}

interface Asked {
  readonly name?: string
  readonly parameters?: Readonly<Record<string, unknown>>
  readonly callback?: string
  readonly user?: string
  readonly notify?: boolean
  readonly resourceType?: string
  readonly target?: { readonly append?: Readonly<Record<string, unknown>>; readonly filter?: unknown }
  readonly schedule?: {
    readonly start?: Moment
    readonly stop?: Moment
    readonly window?: unknown
    readonly scattering?: { readonly maxSpread?: number; readonly strategy?: { readonly factor?: number } }
  }
  readonly operationParameters?: Readonly<Record<string, unknown>>
}

/** A target in words. */
export function targetWords(target: Asked['target'], resourceType?: string): string {
  const { entities, entitiesWithParameters, tags, filter } = (target?.append ?? {}) as Record<string, unknown>
  const listed = [entities, entitiesWithParameters].flatMap(each => (Array.isArray(each) ? each : []))
  if (listed.length > 0) return `a list of ${counted(listed.length, 'entity').replace('entitys', 'entities')}`
  if (Array.isArray(tags) && tags.length > 0) return `tag ${tags.join(', ')}`
  const chosen = filter ?? target?.filter
  if (chosen === undefined) return 'none yet'
  const text = JSON.stringify(chosen)
  return `${text === '{}' ? 'everything it applies to' : `filter ${text}`}${resourceType ? ` of ${resourceType}` : ''}`
}

function momentWords(moment: Moment | undefined, none: string, from: string): ReactNode {
  if (moment?.date) return <Instant at={moment.date} />
  return moment?.delayed === undefined ? none : `${span(moment.delayed)} ${from}`
}

const LIMITS: Readonly<Record<string, string>> = {
  ackTimeout: 'to acknowledge',
  timeout: 'to finish',
  retriesDelay: 'between attempts',
}

/** The limits of each operation in words. */
export function limitWords(limits: Readonly<Record<string, unknown>>): string {
  return Object.entries(limits)
    .filter(([, value]) => value !== null && value !== 0 && !(Array.isArray(value) && value.length === 0))
    .map(([name, value]) => {
      if (name === 'retries') return counted(Number(value), 'retry').replace('retrys', 'retries')
      if (name === 'retryResultList') return `retried after ${Array.isArray(value) ? value.join(', ') : ''}`
      return `${span(Number(value))} ${LIMITS[name] ?? name}`
    })
    .join(', ')
}

export function JobFacts({ job }: { readonly job: JobView }) {
  const asked = job.request as Asked
  const { execution, target = {}, warnings = [] } = job.report
  const { schedule = {}, operationParameters = {} } = asked
  const refused = Object.entries(target).filter(([, ids]) => refusedCount(ids) > 0)
  return (
    <Panel title="Request">
      <dl className="facts">
        <Fact name="Target">{targetWords(asked.target, asked.resourceType)}</Fact>
        <Fact name="Activated">
          <Instant at={execution.activatedDate} none="not yet" />
        </Fact>
        <Fact name="Start">
          {execution.startedDate ? (
            <Instant at={execution.startedDate} />
          ) : (
            momentWords(schedule.start, 'at once', 'after activation')
          )}
        </Fact>
        <Fact name="Stop">{momentWords(schedule.stop, 'none', 'after the start')}</Fact>
        {execution.finishedDate !== '' && (
          <Fact name="Finished">
            <Instant at={execution.finishedDate} />
          </Fact>
        )}
        {schedule.window !== undefined && <Fact name="Window">{windowWords(schedule.window)}</Fact>}
        {schedule.scattering && (
          <Fact name="Scattering">
            {schedule.scattering.maxSpread ?? 0} % of the time
            {schedule.scattering.strategy && `, by cell with factor ${schedule.scattering.strategy.factor ?? 0}`}
          </Fact>
        )}
        <Fact name="Limits">{limitWords(operationParameters) || '1 min to finish'}</Fact>
        {asked.callback && <Fact name="Callback">{asked.callback}</Fact>}
        {asked.notify && <Fact name="Notify">mail and trap at the end</Fact>}
        <Fact name="User">{asked.user}</Fact>
        {job.taskId !== undefined && (
          <Fact name="Task">
            <TaskLink taskId={job.taskId} />
          </Fact>
        )}
        {warnings.map(warning => (
          <Fact key={warning.code} name="Warning">
            <span className="warn">{warningWords(warning)}</span>
          </Fact>
        ))}
        {refused.map(([reason, ids]) => (
          <Fact key={reason} name={`Refused: ${REASONS[reason] ?? reason}`}>
            <details className="more">
              <summary>{counted(refusedCount(ids), 'entity').replace('entitys', 'entities')}</summary>
              <code>{('first' in ids ? ids.first : ids).join(', ')}</code>
            </details>
          </Fact>
        ))}
      </dl>
      <h3 className="fact-head">Parameters</h3>
      {Object.keys(asked.parameters ?? {}).length === 0 ? (
        <p className="quiet">none</p>
      ) : (
        <pre className="code fact-code">{JSON.stringify(asked.parameters, null, 2)}</pre>
      )}
    </Panel>
  )
}

const REASONS: Readonly<Record<string, string>> = {
  notProvisioned: 'not provisioned',
  notAllowed: 'not allowed',
  duplicated: 'duplicated',
}

/** A warning of a job or a plan in words. */
export function warningWords(warning: Readonly<Record<string, unknown>>): string {
  if (warning.code === 'waits-forever') return 'It can wait for ever: it has neither a stop nor a time to acknowledge.'
  if (warning.code === 'rate-above-maximum') {
    const rate =
      typeof warning.rate === 'number' ? `${warning.rate.toFixed(1)} operations per second` : 'as fast as possible'
    return `It launches ${rate}; the most it should is ${String(warning.maximum)}.`
  }
  return String(warning.code)
}
