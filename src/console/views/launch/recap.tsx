/** What a draft will do, in one card: read before it is launched, and after it was kept for a while. */
import { Instant, span } from '../../figures.tsx'
import { Fact } from '../../parts/fact.tsx'
import { Panel } from '../../parts/page.tsx'
import { useTypes } from '../../types.ts'
import { readable } from '../../words.ts'
import { limitWords } from '../job/job-facts.tsx'
import { windowWords } from '../job/window-words.ts'
import { Ends } from '../tasks/ends.tsx'
import { repeatWords } from '../tasks/schedule-words.ts'
import { type Draft, requestOf, taskScheduleOf } from './draft.ts'
import { wordsOfTarget } from './target-words.ts'

/** The name of the operation for people: its title, or its name in lower case. */
export function useTitle(name: string): string {
  const { types } = useTypes()
  return types.find(each => each.name === name)?.title ?? readable(name)
}

export function Recap({ draft, isTask }: { readonly draft: Draft; readonly isTask: boolean }) {
  const title = useTitle(draft.name)
  const { parameters = {}, schedule = {}, operationParameters = {} } = requestOf(draft, isTask)
  return (
    <Panel title={isTask ? 'What the task launches' : 'What is launched'}>
      <dl className="facts facts-wide">
        <Fact name="Operation">
          <span className="strong">{title}</span> <span className="mono quiet">{draft.name}</span>
        </Fact>
        <Fact name="Parameters">
          {Object.keys(parameters).length === 0 ? (
            'none'
          ) : (
            <pre className="code fact-code">{JSON.stringify(parameters, null, 2)}</pre>
          )}
        </Fact>
        <Fact name="Target">{wordsOfTarget(draft)}</Fact>
        {isTask ? <Rhythm draft={draft} /> : <Fact name="Start">{startOf(draft)}</Fact>}
        <Fact name="Stop">{stopOf(draft)}</Fact>
        <Fact name="Window">{schedule.window ? windowWords(schedule.window) : 'at any hour'}</Fact>
        <Fact name="Spread">{spreadWords(draft)}</Fact>
        <Fact name="Limits">{limitWords(operationParameters)}</Fact>
        {draft.userNotes !== '' && <Fact name="Notes">{draft.userNotes}</Fact>}
        {draft.callback !== '' && <Fact name="Callback">{draft.callback}</Fact>}
        {draft.notify && <Fact name="Notify">mail and trap at the end</Fact>}
      </dl>
    </Panel>
  )
}

function Rhythm({ draft }: { readonly draft: Draft }) {
  const schedule = taskScheduleOf(draft) as Readonly<Record<string, unknown>>
  return (
    <>
      {draft.taskName !== '' && <Fact name="Task">{draft.taskName}</Fact>}
      <Fact name="Repeats">{repeatWords(schedule)}</Fact>
      {draft.start === 'date' && (
        <Fact name="From">
          <Instant at={draft.startDate} />
        </Fact>
      )}
      <Fact name="Ends">
        <Ends schedule={schedule} />
      </Fact>
    </>
  )
}

function startOf({ start, startDate }: Draft) {
  if (start === 'date') return <Instant at={startDate} />
  return start === 'now' ? 'at once' : 'when the job is activated; it is made inactive'
}

function stopOf({ stop, stopDate, stopAfterMin }: Draft) {
  if (stop === 'date') return <Instant at={stopDate} />
  return stop === 'none' ? 'never' : `${span(stopAfterMin * 60_000)} after the start`
}

function spreadWords({ maxSpread, factor, warningMaxRate }: Draft): string {
  const cells = factor === null ? '' : `, by cell with factor ${factor}`
  const warning = warningMaxRate === null ? '' : `; warns above ${warningMaxRate} per second`
  return `${maxSpread === 0 ? 'as fast as possible' : `over ${maxSpread} % of the time`}${cells}${warning}`
}
