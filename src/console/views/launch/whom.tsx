/** The second step: which devices, by a list, a tag or conditions, with their count and some of them. */
import { Button, FileButton, SegmentedControl, Select, Textarea, TextInput } from '@mantine/core'
import { useDebouncedValue } from '@mantine/hooks'
import { useMemo, useState } from 'react'
import { RESOURCE_TYPES, type ResourceType } from '../../../contract/words.ts'
import { count, counted } from '../../figures.tsx'
import { useAsked } from '../../live.ts'
import { CurlButton } from '../../parts/curl.tsx'
import { Notice } from '../../parts/notice.tsx'
import { Panel } from '../../parts/page.tsx'
import { Failed } from '../../parts/states.tsx'
import { asking } from '../../request.ts'
import { identifierOf } from '../devices/flattened.ts'
import { countingFilter, type Draft, isLong, LISTED_MAX, readList } from './draft.ts'
import { FilterBuilder } from './filter-builder.tsx'
import { Missing } from './missing.tsx'
import type { StepProps } from './what.tsx'

export default function Whom({ draft, change, isTask }: StepProps & { readonly isTask: boolean }) {
  return (
    <div className="columns">
      <div className="span-8">
        <Panel title="Whom">
          <div className="stack form">
            <SegmentedControl
              aria-label="How devices are chosen"
              data={[
                { value: 'list', label: 'A list' },
                { value: 'tag', label: 'A tag' },
                { value: 'filter', label: 'Conditions' },
              ]}
              value={draft.target}
              onChange={target => change({ target: target as Draft['target'] })}
            />
            {draft.target === 'list' && <ListTarget draft={draft} change={change} isTask={isTask} />}
            {draft.target === 'tag' && (
              <TextInput
                label="Tag"
                description="Every device that carries it now"
                value={draft.tag}
                onChange={event => change({ tag: event.currentTarget.value.trim() })}
              />
            )}
            {draft.target === 'filter' && (
              <FilterBuilder conditions={draft.conditions} every={draft.every} onChange={change} />
            )}
            {draft.target !== 'list' && (
              <Select
                label="Kind of entity"
                data={[
                  { value: '', label: 'Whatever the operation applies to' },
                  ...RESOURCE_TYPES.map(value => ({ value, label: value })),
                ]}
                value={draft.resourceType}
                onChange={value => change({ resourceType: (value ?? '') as ResourceType | '' })}
                allowDeselect={false}
              />
            )}
          </div>
        </Panel>
      </div>
      <div className="span-4">
        <Sample draft={draft} />
      </div>
    </div>
  )
}

function ListTarget({ draft, change, isTask }: StepProps & { readonly isTask: boolean }) {
  const [text, setText] = useState(draft.list.join('\n'))
  const take = (next: string) => {
    setText(next)
    change({ list: readList(next) })
  }
  return (
    <>
      <Textarea
        label="Devices"
        description="Identifiers, one a line or separated by commas or spaces"
        minRows={8}
        rows={10}
        spellCheck={false}
        value={text}
        onChange={event => take(event.currentTarget.value)}
      />
      <div className="row">
        <FileButton accept=".txt,.csv,text/plain,text/csv" onChange={file => void file?.text().then(take)}>
          {props => (
            <Button {...props} size="xs" variant="default">
              Upload a file
            </Button>
          )}
        </FileButton>
        <span className="quiet figure">{counted(draft.list.length, 'identifier')}</span>
      </div>
      {isLong(draft) && !isTask && (
        <Notice calm>
          More than {LISTED_MAX} at once: the job is made inactive, filled in parts of {LISTED_MAX}, and then activated.
        </Notice>
      )}
    </>
  )
}

/** How many devices there are like this now, and some of them. */
function Sample({ draft }: { readonly draft: Draft }) {
  const wanted = useMemo(() => countingFilter(draft), [draft])
  const [filter] = useDebouncedValue(wanted, 400)
  const body = useMemo(() => {
    const kind =
      draft.target !== 'list' && draft.resourceType !== '' ? { eq: { resourceType: draft.resourceType } } : null
    return kind
      ? { filter: { and: [filter ?? {}, kind].filter(each => Object.keys(each).length > 0) } }
      : { filter: filter ?? {} }
  }, [filter, draft.target, draft.resourceType])
  const enabled = filter !== null
  const summary = asking('POST /search/entities/summary', { body })
  const counts = useAsked(summary, { enabled, keep: true })
  const sample = useAsked(
    asking('POST /search/entities', { query: { flattened: true }, body: { ...body, limit: { size: 8 } } }),
    {
      enabled,
      keep: true,
    },
  )
  const total = counts.data?.summary.count
  const rows = (sample.data as { entities?: readonly Record<string, unknown>[] } | null)?.entities ?? []
  const missing = draft.target === 'list' && total !== undefined ? new Set(draft.list).size - total : 0
  return (
    <Panel title="Found now" actions={enabled && <CurlButton ask={summary} what="Count" />}>
      {!enabled && <p className="quiet">Nothing is chosen yet.</p>}
      {counts.isError && <Failed error={counts.error} />}
      {enabled && total !== undefined && (
        <>
          <div className="tile">
            <span className="tile-value">{count(total)}</span>
            <span className="tile-label">{total === 1 ? 'entity' : 'entities'}</span>
          </div>
          {missing > 0 && <Missing list={draft.list} number={missing} />}
          <ul className="sample mono">
            {rows.map(row => (
              <li key={identifierOf(row)} className="cut">
                {identifierOf(row)}
              </li>
            ))}
            {total > rows.length && <li className="quiet">and {count(total - rows.length)} more</li>}
          </ul>
          {draft.target === 'filter' && <pre className="code">{JSON.stringify(body.filter, null, 1)}</pre>}
        </>
      )}
    </Panel>
  )
}
