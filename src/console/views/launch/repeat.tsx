/** When a task makes jobs: once, by a fixed interval, or by a calendar pattern. */
import { MultiSelect, NumberInput, Select, TextInput } from '@mantine/core'
import { viewerZone } from '../../figures.tsx'
import { Panel } from '../../parts/page.tsx'
import { DAYS, type Day, type Draft, MONTHS, type Month } from './draft.ts'
import type { StepProps } from './what.tsx'
import { LocalTime } from './when.tsx'

const KINDS: readonly { readonly value: Draft['repeat']; readonly label: string }[] = [
  { value: 'daily', label: 'Every day' },
  { value: 'weekly', label: 'On days of the week' },
  { value: 'monthly', label: 'On a day of months' },
  { value: 'period', label: 'At an interval' },
  { value: 'once', label: 'Once' },
]

const UNITS: readonly { readonly value: Draft['unit']; readonly label: string }[] = [
  { value: 'MINUTES', label: 'minutes' },
  { value: 'HOURS', label: 'hours' },
  { value: 'DAYS', label: 'days' },
  { value: 'SECONDS', label: 'seconds' },
]

export function Repeat({ draft, change }: StepProps) {
  const isPattern = draft.repeat === 'daily' || draft.repeat === 'weekly' || draft.repeat === 'monthly'
  return (
    <Panel title="Repeats">
      <div className="stack form">
        <TextInput
          label="Name of the task"
          value={draft.taskName}
          onChange={event => change({ taskName: event.currentTarget.value })}
        />
        <Select
          label="How often"
          data={KINDS}
          value={draft.repeat}
          onChange={repeat => repeat && change({ repeat })}
          allowDeselect={false}
        />
        {draft.repeat === 'period' && (
          <div className="row">
            <NumberInput
              label="Each"
              min={1}
              value={draft.each}
              onChange={value => change({ each: Number(value) || 1 })}
            />
            <Select
              label="Unit"
              data={UNITS}
              value={draft.unit}
              onChange={unit => unit && change({ unit })}
              allowDeselect={false}
            />
          </div>
        )}
        {isPattern && (
          <TextInput
            type="time"
            label="At"
            description={`In ${viewerZone}, with the offset in force today: patterns know no summer time`}
            value={draft.time}
            onChange={event => change({ time: event.currentTarget.value })}
          />
        )}
        {draft.repeat === 'weekly' && (
          <MultiSelect
            label="On"
            data={[...DAYS]}
            value={[...draft.days]}
            onChange={days => change({ days: days as Day[] })}
          />
        )}
        {draft.repeat === 'monthly' && (
          <>
            <NumberInput
              label="Day"
              min={1}
              max={31}
              value={draft.day}
              onChange={value => change({ day: Number(value) || 1 })}
            />
            <MultiSelect
              label="Of"
              data={[...MONTHS]}
              value={[...draft.months]}
              onChange={months => change({ months: months as Month[] })}
            />
          </>
        )}
        <Select
          label="First"
          data={[
            { value: 'now', label: 'From now on' },
            { value: 'date', label: 'From a time on' },
          ]}
          value={draft.start === 'date' ? 'date' : 'now'}
          onChange={start => change({ start: start === 'date' ? 'date' : 'now' })}
          allowDeselect={false}
        />
        {draft.start === 'date' && (
          <LocalTime label="From" value={draft.startDate} onChange={startDate => change({ startDate })} />
        )}
        <NumberInput
          label="Jobs at most"
          description="Empty: no end"
          min={1}
          value={draft.executions ?? ''}
          onChange={value => change({ executions: value === '' ? null : Number(value) || null })}
        />
      </div>
    </Panel>
  )
}
