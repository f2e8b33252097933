/** Conditions over devices, put together without writing the filter language. */
import { ActionIcon, Autocomplete, Button, SegmentedControl, Select, TextInput } from '@mantine/core'
import { useMemo } from 'react'
import { useAsked } from '../../live.ts'
import { Icon } from '../../parts/icons.tsx'
import { asking } from '../../request.ts'
import type { Condition } from './draft.ts'
import { OPERATORS } from './target-words.ts'

/** What can be asked for beside the ids of the data model. */
const BESIDE = [
  ...['connection.connected', 'connection.connectedDate', 'connection.disconnectedDate', 'connection.seenDate'],
  ...['operations.unsuccessfulIn', 'subscription.collected.cellInfo'],
]

export interface FilterParts {
  readonly conditions: readonly Condition[]
  readonly every: boolean
}

function useFields(): string[] {
  const found = useAsked(asking('POST /search/datamodels', { body: {} }))
  return useMemo(() => {
    const models = (
      found.data as {
        datamodels?: readonly { categories: readonly { datastreams: readonly { identifier: string }[] }[] }[]
      } | null
    )?.datamodels
    const ids = (models ?? []).flatMap(model =>
      model.categories.flatMap(each => each.datastreams.map(({ identifier }) => identifier)),
    )
    return [...new Set([...ids, ...BESIDE])].sort()
  }, [found.data])
}

export function FilterBuilder({
  conditions,
  every,
  onChange,
}: FilterParts & { readonly onChange: (parts: FilterParts) => void }) {
  const fields = useFields()
  const set = (index: number, change: Partial<Condition>) =>
    onChange({ every, conditions: conditions.map((each, at) => (at === index ? { ...each, ...change } : each)) })
  const add = () => {
    const id = Math.max(0, ...conditions.map(each => each.id)) + 1
    onChange({ every, conditions: [...conditions, { id, field: '', operator: 'eq', value: '' }] })
  }
  return (
    <div className="stack">
      {conditions.length > 1 && (
        <SegmentedControl
          size="xs"
          aria-label="How the conditions go together"
          data={[
            { value: 'and', label: 'All of these' },
            { value: 'or', label: 'Any of these' },
          ]}
          value={every ? 'and' : 'or'}
          onChange={value => onChange({ conditions, every: value === 'and' })}
        />
      )}
      {conditions.length === 0 && <p className="quiet">No condition: every device that the operation applies to.</p>}
      {conditions.map((condition, index) => (
        <div className="condition" key={condition.id}>
          <Autocomplete
            aria-label={`Field of condition ${index + 1}`}
            placeholder="provision.device.model"
            data={fields}
            limit={40}
            value={condition.field}
            onChange={field => set(index, { field })}
            size="sm"
          />
          <Select
            aria-label={`How condition ${index + 1} compares`}
            data={OPERATORS}
            value={condition.operator}
            onChange={operator => operator && set(index, { operator })}
            allowDeselect={false}
          />
          {condition.operator !== 'exists' && condition.operator !== 'missing' ? (
            <TextInput
              aria-label={`Value of condition ${index + 1}`}
              placeholder={condition.operator === 'in' ? 'One, another, …' : 'Value'}
              value={condition.value}
              onChange={event => set(index, { value: event.currentTarget.value })}
            />
          ) : (
            <span />
          )}
          <ActionIcon
            variant="subtle"
            color="gray"
            size={34}
            aria-label={`Remove condition ${index + 1}`}
            onClick={() => onChange({ every, conditions: conditions.filter((_, at) => at !== index) })}
          >
            <Icon name="close" />
          </ActionIcon>
        </div>
      ))}
      <div>
        <Button size="xs" variant="default" leftSection={<Icon name="plus" size={14} />} onClick={add}>
          Add a condition
        </Button>
      </div>
    </div>
  )
}
