/** The third step: when it starts and stops, at which hours, how spread, and the limits of each operation. */
import { Checkbox, MultiSelect, NumberInput, SegmentedControl, Switch, TextInput } from '@mantine/core'
import { useDebouncedValue } from '@mantine/hooks'
import { useMemo } from 'react'
import { OPERATION_RESULTS } from '../../../contract/words.ts'
import { viewerZone } from '../../figures.tsx'
import { useAsked } from '../../live.ts'
import { NothingRunsBox } from '../../parts/nothing-runs.tsx'
import { Panel } from '../../parts/page.tsx'
import { Failed } from '../../parts/states.tsx'
import { type Draft, hoursOpen, lacksOf } from './draft.ts'
import { Curve, planOf } from './plan-step.tsx'
import { Repeat } from './repeat.tsx'
import { WeekWindow } from './week.tsx'
import type { StepProps } from './what.tsx'

const NIGHTS = () => hoursOpen(22, 6, [0, 1, 2, 3, 4, 5, 6])

export default function When({ draft, change, isTask }: StepProps & { readonly isTask: boolean }) {
  return (
    <div className="columns">
      <div className="span-7 stack">
        {isTask ? <Repeat draft={draft} change={change} /> : <Start draft={draft} change={change} />}
        <Stop draft={draft} change={change} isTask={isTask} />
        <Panel
          title="Window"
          actions={
            <Switch
              label="Only at certain hours"
              checked={draft.week !== null}
              onChange={event => change({ week: event.currentTarget.checked ? NIGHTS() : null })}
            />
          }
        >
          {draft.week ? (
            <WeekWindow week={draft.week} onChange={week => change({ week })} />
          ) : (
            <p className="quiet">Requests may reach devices at any hour.</p>
          )}
        </Panel>
      </div>
      <div className="span-5 stack">
        <Scattering draft={draft} change={change} />
        <Preview draft={draft} isTask={isTask} />
        <Limits draft={draft} change={change} />
        <Told draft={draft} change={change} />
      </div>
    </div>
  )
}

function Start({ draft, change }: StepProps) {
  return (
    <Panel title="Start">
      <div className="stack form">
        <SegmentedControl
          aria-label="When it starts"
          data={[
            { value: 'now', label: 'At once' },
            { value: 'date', label: 'At a time' },
            { value: 'never', label: 'Not yet' },
          ]}
          value={draft.start}
          onChange={start => change({ start: start as Draft['start'] })}
        />
        {draft.start === 'date' && (
          <LocalTime label="Start" value={draft.startDate} onChange={startDate => change({ startDate })} />
        )}
        {draft.start === 'never' && <p className="quiet">The job is made inactive; activate it when it is time.</p>}
      </div>
    </Panel>
  )
}

/** A time in the viewer's zone, with what it is in UTC. */
export function LocalTime({
  label,
  value,
  onChange,
}: {
  readonly label: string
  readonly value: string
  readonly onChange: (value: string) => void
}) {
  const at = new Date(value)
  const utc = Number.isNaN(at.getTime()) ? '' : `, ${at.toISOString().slice(0, 16).replace('T', ' ')} UTC`
  return (
    <TextInput
      type="datetime-local"
      label={label}
      description={`In ${viewerZone}${utc}`}
      value={value}
      onChange={event => onChange(event.currentTarget.value)}
    />
  )
}

function Stop({ draft, change, isTask }: StepProps & { readonly isTask: boolean }) {
  const choices = [
    { value: 'after', label: 'After a while' },
    ...(isTask ? [] : [{ value: 'date', label: 'At a time' }]),
    { value: 'none', label: 'Never' },
  ]
  return (
    <Panel title="Stop">
      <div className="stack form">
        <SegmentedControl
          aria-label="When it stops"
          data={choices}
          value={draft.stop}
          onChange={stop => change({ stop: stop as Draft['stop'] })}
        />
        {draft.stop === 'after' && (
          <NumberInput
            label="Minutes after the start"
            min={1}
            value={draft.stopAfterMin}
            onChange={value => change({ stopAfterMin: Number(value) || 1 })}
          />
        )}
        {draft.stop === 'date' && (
          <LocalTime label="Stop" value={draft.stopDate} onChange={stopDate => change({ stopDate })} />
        )}
        {draft.stop === 'none' && <p className="quiet">Operations wait for their devices as long as it takes.</p>}
      </div>
    </Panel>
  )
}

function Scattering({ draft, change }: StepProps) {
  return (
    <Panel title="Scattering">
      <div className="stack form">
        <NumberInput
          label="Spread over the time, per cent"
          description="0: as fast as possible; 100: over the whole time"
          min={0}
          max={100}
          value={draft.maxSpread}
          onChange={value => change({ maxSpread: Number(value) || 0 })}
        />
        <Checkbox
          label="Spread by cell"
          checked={draft.factor !== null}
          onChange={event => change({ factor: event.currentTarget.checked ? 50 : null })}
        />
        {draft.factor !== null && (
          <NumberInput
            label="Dispersion within a cell, per cent"
            description="0: cell after cell; 100: all cells at a time"
            min={0}
            max={100}
            value={draft.factor}
            onChange={value => change({ factor: Number(value) || 0 })}
          />
        )}
        <NumberInput
          label="Warn above, operations per second"
          min={0}
          value={draft.warningMaxRate ?? ''}
          onChange={value => change({ warningMaxRate: value === '' ? null : Number(value) || null })}
        />
      </div>
    </Panel>
  )
}

/** The curve of launches as it would be now, by the plan. */
function Preview({ draft, isTask }: { readonly draft: Draft; readonly isTask: boolean }) {
  const [settled] = useDebouncedValue(draft, 600)
  const asked = useMemo(() => planOf(settled, isTask), [settled, isTask])
  const found = useAsked(asked, { enabled: lacksOf(settled, 'when') === null, keep: true })
  if (found.isError) return <Failed error={found.error} />
  if (!found.data) return null
  return (
    <>
      <NothingRunsBox plan={found.data} isLaunched={isTask || settled.start !== 'never'} />
      <Curve plan={found.data} isTask={isTask} />
    </>
  )
}

function Limits({ draft, change }: StepProps) {
  const seconds = (label: string, description: string, name: 'ackTimeoutS' | 'timeoutS' | 'retriesDelayS', min = 0) => (
    <NumberInput
      label={label}
      description={description}
      min={min}
      value={draft[name]}
      onChange={value => change({ [name]: Number(value) || 0 })}
    />
  )
  return (
    <Panel title="Limits of each operation">
      <div className="stack form">
        {seconds('Seconds to acknowledge', '0: no limit', 'ackTimeoutS')}
        {seconds('Seconds to finish', 'With the time to acknowledge more than 40', 'timeoutS', 1)}
        <NumberInput
          label="Retries"
          min={0}
          max={100}
          value={draft.retries}
          onChange={value => change({ retries: Number(value) || 0 })}
        />
        {draft.retries > 0 && (
          <>
            {seconds('Seconds between attempts', '', 'retriesDelayS')}
            <MultiSelect
              label="Retried after, beside time-outs"
              data={OPERATION_RESULTS.filter(each => each !== 'OPERATION_PENDING' && each !== 'ERROR_TIMEOUT')}
              value={[...draft.retryResults]}
              onChange={retryResults => change({ retryResults })}
              searchable
            />
          </>
        )}
      </div>
    </Panel>
  )
}

function Told({ draft, change }: StepProps) {
  return (
    <Panel title="Note and notification">
      <div className="stack form">
        <TextInput
          label="Notes"
          placeholder="What this is for"
          value={draft.userNotes}
          onChange={event => change({ userNotes: event.currentTarget.value })}
        />
        <TextInput
          label="Callback"
          placeholder="http://client.example/fleet"
          value={draft.callback}
          onChange={event => change({ callback: event.currentTarget.value.trim() })}
        />
        <Checkbox
          label="Mail and trap at the end"
          checked={draft.notify}
          onChange={event => change({ notify: event.currentTarget.checked })}
        />
      </div>
    </Panel>
  )
}
