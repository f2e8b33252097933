/** What can be run here, and the catalog that it is cloned from. */
import './types.css'
import { Button, Modal, SegmentedControl, TextInput } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import { Link, useLocation } from 'wouter'
import type { OperationTypeAnswer } from '../../../contract/client/client.ts'
import { counted } from '../../figures.tsx'
import { useAsked } from '../../live.ts'
import { useAddressed } from '../../parts/address.ts'
import { AsOf } from '../../parts/as-of.tsx'
import { CsvOfShown } from '../../parts/csv.tsx'
import { CurlButton } from '../../parts/curl.tsx'
import { DialogEnd } from '../../parts/dialog-end.tsx'
import { Find } from '../../parts/find.tsx'
import { Icon } from '../../parts/icons.tsx'
import { Page } from '../../parts/page.tsx'
import { Empty, Failed, Loading } from '../../parts/states.tsx'
import { ask, asking } from '../../request.ts'
import { useMay, useSession } from '../../session.ts'

/** Columns of CSV, as the service writes them of its types. */
const COLUMNS = [
  'name',
  'title',
  'description',
  'applicableTo',
  'parameters',
  'steps',
  'profiles',
  'fromCatalog',
] as const

const cellOf = (value: unknown): string | null =>
  value === undefined || value === null ? null : typeof value === 'string' ? value : JSON.stringify(value)

export default function Types() {
  const session = useSession()
  const mayManage = useMay('manageOperationTypes')
  const [view, setView] = useAddressed('view')
  const [words, setWords] = useAddressed('words')
  const [cloned, setCloned] = useState<OperationTypeAnswer | null>(null)
  const organization = session?.organization ?? ''
  const own = asking('GET /operationTypes/provision/organizations/{organization}', { path: { organization } })
  const catalog = asking('GET /operationTypes/catalog')
  const isCatalog = view === 'catalog'
  const found = useAsked(isCatalog ? catalog : own)
  const small = words.toLowerCase()
  const types = (found.data ?? []).filter(({ name, title, description }) =>
    [name, title, description].some(each => each?.toLowerCase().includes(small)),
  )
  return (
    <Page
      title="Operation types"
      facts={<AsOf of={found} live={false} />}
      actions={
        <>
          <SegmentedControl
            size="xs"
            aria-label="Which types"
            data={[
              { value: '', label: 'Of the organization' },
              { value: 'catalog', label: 'Catalog' },
            ]}
            value={view}
            onChange={setView}
          />
          <CurlButton ask={isCatalog ? catalog : own} what="This list" />
          <CsvOfShown
            name={isCatalog ? 'catalog' : 'operation-types'}
            columns={COLUMNS}
            rows={() => types.map(type => COLUMNS.map(column => cellOf(type[column])))}
          />
          {mayManage && (
            <Button component={Link} href="/types/new" size="xs" leftSection={<Icon name="plus" size={14} />}>
              New type
            </Button>
          )}
        </>
      }
    >
      <div className="filters">
        <Find what="Name, title or description" value={words} onFind={setWords} />
      </div>
      {found.isPending && <Loading what="the types" />}
      {found.isError && <Failed error={found.error} retry={() => void found.refetch()} />}
      {found.data && types.length === 0 && <Empty>No type fits this filter.</Empty>}
      <ul className="cards">
        {types.map(type => (
          <li key={type.name} className="panel card">
            <h2 className="card-title">
              {isCatalog ? (
                (type.title ?? type.name)
              ) : (
                <Link href={`/types/${encodeURIComponent(type.name)}`}>{type.title ?? type.name}</Link>
              )}
            </h2>
            <p className="mono quiet">{type.name}</p>
            <p>{type.description}</p>
            <p className="quiet small card-foot">
              {(type.applicableTo ?? []).map(each => each.replace('entity.', '')).join(', ')}
              {(type.steps ?? []).length > 0 && ` · ${counted((type.steps ?? []).length, 'step')}`}
              {type.fromCatalog && !isCatalog && ' · from the catalog'}
            </p>
            {isCatalog && mayManage && (
              <div>
                <Button size="compact-sm" variant="default" onClick={() => setCloned(type)}>
                  Clone
                </Button>
              </div>
            )}
          </li>
        ))}
      </ul>
      <Modal
        opened={cloned !== null}
        onClose={() => setCloned(null)}
        title={`Clone ${cloned?.name ?? ''}`}
        closeButtonProps={{ 'aria-label': 'Close' }}
      >
        {cloned && <CloneForm type={cloned} organization={organization} onDone={() => setCloned(null)} />}
      </Modal>
    </Page>
  )
}

interface CloneProps {
  readonly type: OperationTypeAnswer
  readonly organization: string
  readonly onDone: () => void
}

function CloneForm({ type, organization, onDone }: CloneProps) {
  const queries = useQueryClient()
  const [, go] = useLocation()
  const [name, setName] = useState(`${type.name}_2`)
  const [title, setTitle] = useState(type.title ?? '')
  const [description, setDescription] = useState(type.description ?? '')
  const asked = asking('POST /operationTypes/provision/organizations/{organization}', {
    path: { organization },
    body: { name, title, description, fromCatalog: type.name },
  })
  const making = useMutation({
    mutationFn: () => ask(asked),
    onSuccess: async () => {
      onDone()
      await queries.invalidateQueries({ queryKey: ['types'] })
      go(`/types/${encodeURIComponent(name)}`)
    },
  })
  const submit = (event: FormEvent) => {
    event.preventDefault()
    making.mutate()
  }
  return (
    <form className="stack" onSubmit={submit}>
      <TextInput label="Name" required value={name} onChange={event => setName(event.currentTarget.value)} />
      <TextInput label="Title" value={title} onChange={event => setTitle(event.currentTarget.value)} />
      <TextInput
        label="Description"
        value={description}
        onChange={event => setDescription(event.currentTarget.value)}
      />
      <p className="quiet">Schema, steps and applicability of a clone are those of the catalog.</p>
      <DialogEnd ask={asked} error={making.error} verb="Clone" isPending={making.isPending} onLeave={onDone} />
    </form>
  )
}
