/** One operation type, shown or edited: its schema is checked as it is written, with the form that comes of it beside. */
import './types.css'
import '@mantine/core/styles/Pill.layer.css'
import '@mantine/core/styles/PillsInput.layer.css'
import { Button, MultiSelect, Textarea, TextInput } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { type FormEvent, lazy, Suspense, useId, useMemo, useState } from 'react'
import { Link, useLocation, useParams } from 'wouter'
import type { OperationTypeAnswer } from '../../../contract/client/client.ts'
import { mayExecute, PROFILES, RESOURCE_TYPES, type ResourceType } from '../../../contract/words.ts'
import { counted } from '../../figures.tsx'
import { useAsked } from '../../live.ts'
import { Action } from '../../parts/action.tsx'
import { Curl, CurlButton } from '../../parts/curl.tsx'
import { Icon } from '../../parts/icons.tsx'
import { Notice } from '../../parts/notice.tsx'
import { Page, Panel } from '../../parts/page.tsx'
import { Failed, Loading } from '../../parts/states.tsx'
import { persistent } from '../../persistent.ts'
import { ask, asking } from '../../request.ts'
import { useMay, useSession } from '../../session.ts'

const SchemaForm = lazy(persistent(() => import('../../parts/schema-form.tsx')))

const NEW: OperationTypeAnswer = {
  name: '',
  applicableTo: ['entity.device'],
  parameters: {
    type: 'object',
    properties: { times: { type: 'integer', title: 'Times', minimum: 1, default: 1 } },
    additionalProperties: false,
  },
  steps: [],
}

export default function Type() {
  const { name = '' } = useParams<{ name: string }>()
  const isNew = name === 'new'
  const operationName = decodeURIComponent(name)
  const session = useSession()
  const organization = session?.organization ?? ''
  const mayManage = useMay('manageOperationTypes')
  const [, go] = useLocation()
  const asked = asking('GET /operationTypes/provision/organizations/{organization}/{operationName}', {
    path: { organization, operationName },
  })
  const found = useAsked(asked, { enabled: !isNew })
  const type = isNew ? NEW : found.data
  const counts = { enabled: !isNew && mayManage, every: 10_000 }
  const open = useAsked(
    asking('POST /search/entities/operations/summary', {
      body: {
        filter: { eq: { 'operations.name': operationName } },
        group: { parameters: [{ name: 'operations.name' }] },
      },
    }),
    counts,
  )
  const tasks = useAsked(
    asking('POST /search/tasks/summary', {
      body: {
        filter: {
          and: [{ eq: { 'tasks.job.request.name': operationName } }, { in: { 'tasks.state': ['ACTIVE', 'INACTIVE'] } }],
        },
      },
    }),
    counts,
  )
  const failed = [open, tasks].find(each => each.isError && !each.data)
  // An operation is on one device.
  const touched = open.data && tasks.data ? { touches: open.data.summary.count } : {}
  return (
    <Page
      title={isNew ? 'New operation type' : (type?.title ?? operationName)}
      above={<Link href="/types">Operation types</Link>}
      facts={!isNew && type && <span className="mono">{type.name}</span>}
      actions={
        !isNew &&
        type && (
          <>
            <CurlButton ask={asked} what="This type" />
            {mayManage && (
              <Action
                name="Delete"
                danger
                ask={asking('DELETE /operationTypes/provision/organizations/{organization}/{operationName}', {
                  path: { organization, operationName },
                })}
                {...touched}
                onDone={() => go('/types')}
              >
                <Notice>
                  {open.data && tasks.data
                    ? `${counted(open.data.summary.count, 'open operation')} and ${counted(tasks.data.summary.count, 'task')} that run it are cancelled.`
                    : 'Its open operations are cancelled, and so are the tasks that run it.'}{' '}
                  This cannot be taken back.
                </Notice>
                {failed && <Failed error={failed.error} retry={() => void failed.refetch()} />}
              </Action>
            )}
            {session && mayExecute(session.profile, type.profiles) && (
              <Button
                component={Link}
                href={`/launch?type=${encodeURIComponent(type.name)}`}
                size="xs"
                leftSection={<Icon name="launch" size={14} />}
              >
                Launch a job
              </Button>
            )}
          </>
        )
      }
    >
      {!isNew && found.isPending && <Loading what="the type" />}
      {found.isError && <Failed error={found.error} retry={() => void found.refetch()} />}
      {type && <Editor key={type.name} type={type} organization={organization} isNew={isNew} mayManage={mayManage} />}
    </Page>
  )
}

/** What is shown and cannot be changed. */
const FIXED = { readOnly: true, variant: 'filled' } as const

interface EditorProps {
  readonly type: OperationTypeAnswer
  readonly organization: string
  readonly isNew: boolean
  readonly mayManage: boolean
}

/** A text as JSON of a kind, or why it is none. */
function readJson(text: string, isList: boolean): { readonly value: unknown; readonly fault: string } {
  try {
    const value: unknown = JSON.parse(text)
    const fits = isList ? Array.isArray(value) : typeof value === 'object' && value !== null && !Array.isArray(value)
    return fits ? { value, fault: '' } : { value: null, fault: isList ? 'must be a list' : 'must be an object' }
  } catch (error) {
    return { value: null, fault: error instanceof Error ? error.message : 'is not JSON' }
  }
}

function Editor({ type, organization, isNew, mayManage }: EditorProps) {
  const queries = useQueryClient()
  const [, go] = useLocation()
  const [name, setName] = useState(type.name)
  const [title, setTitle] = useState(type.title ?? '')
  const [description, setDescription] = useState(type.description ?? '')
  const [applicableTo, setApplicableTo] = useState<readonly string[]>(type.applicableTo ?? [])
  const [profiles, setProfiles] = useState<readonly string[]>(type.profiles ?? [])
  const stored = JSON.stringify(type.parameters ?? { type: 'object' }, null, 2)
  const [schemaText, setSchemaText] = useState(stored)
  const [stepsText, setStepsText] = useState(JSON.stringify(type.steps ?? [], null, 2))
  const [sample, setSample] = useState<Readonly<Record<string, unknown>>>({})
  const isClone = typeof type.fromCatalog === 'string'
  const schema = useMemo(() => readJson(schemaText, false), [schemaText])
  const formId = useId()
  const steps = readJson(stepsText, true)
  const fixed = (isClone || !mayManage) && FIXED
  const whole = {
    title,
    description,
    ...(!isClone && {
      applicableTo: applicableTo as ResourceType[],
      profiles: profiles.length > 0 ? [...profiles] : null,
      parameters: schema.value as Record<string, unknown>,
      steps: steps.value as NonNullable<OperationTypeAnswer['steps']>,
    }),
  }
  const asked = isNew
    ? asking('POST /operationTypes/provision/organizations/{organization}', {
        path: { organization },
        body: { name, ...whole },
      })
    : asking('PUT /operationTypes/provision/organizations/{organization}/{operationName}', {
        path: { organization, operationName: type.name },
        body: { ...(name !== type.name && { name }), ...whole },
      })
  const saving = useMutation({
    mutationFn: () => ask<unknown>(asked),
    onSuccess: async () => {
      await queries.invalidateQueries({ queryKey: ['types'] })
      go(`/types/${encodeURIComponent(name)}`)
    },
  })
  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (schema.fault === '' && steps.fault === '') saving.mutate()
  }
  return (
    <div className="columns">
      <form id={formId} className="span-6 stack" onSubmit={submit} onInput={() => saving.isSuccess && saving.reset()}>
        <Panel title="Type">
          <div className="stack">
            <TextInput
              label="Name"
              required
              maxLength={50}
              {...(!mayManage && FIXED)}
              value={name}
              onChange={event => setName(event.currentTarget.value)}
            />
            <TextInput
              label="Title"
              {...(!mayManage && FIXED)}
              value={title}
              onChange={event => setTitle(event.currentTarget.value)}
            />
            <Textarea
              label="Description"
              rows={2}
              {...(!mayManage && FIXED)}
              value={description}
              onChange={event => setDescription(event.currentTarget.value)}
            />
            <MultiSelect
              label="Applicable to"
              data={[...RESOURCE_TYPES]}
              value={[...applicableTo]}
              onChange={setApplicableTo}
              {...fixed}
            />
            <MultiSelect
              label="Profiles that may run it"
              description="None named: all but viewer"
              data={PROFILES.filter(each => each !== 'viewer')}
              value={[...profiles]}
              onChange={setProfiles}
              {...fixed}
            />
          </div>
        </Panel>
        {isClone && (
          <Notice calm>A clone of {type.fromCatalog}: only name, title and description can be changed.</Notice>
        )}
        <Panel title="Parameters, as JSON Schema">
          <Textarea
            aria-label="JSON Schema of the parameters"
            className="editor"
            rows={16}
            spellCheck={false}
            {...fixed}
            value={schemaText}
            error={schema.fault}
            onChange={event => setSchemaText(event.currentTarget.value)}
          />
        </Panel>
        <Panel title="Steps">
          <Textarea
            aria-label="Steps as JSON"
            className="editor"
            rows={8}
            spellCheck={false}
            {...fixed}
            value={stepsText}
            error={steps.fault}
            onChange={event => setStepsText(event.currentTarget.value)}
          />
        </Panel>
      </form>
      <div className="span-6 stack">
        {mayManage && (
          <Panel title="Save">
            <div className="stack">
              {/* Nothing that changes its height while one fills in stands above: the button stays under the pointer. */}
              <div className="row">
                <Button
                  type="submit"
                  form={formId}
                  loading={saving.isPending}
                  disabled={schema.fault !== '' || steps.fault !== ''}
                >
                  {isNew ? 'Create the type' : 'Save'}
                </Button>
                {saving.isSuccess && (
                  <span className="good row" role="status">
                    <Icon name="done" /> Saved.
                  </span>
                )}
              </div>
              {saving.isError && <Failed error={saving.error} />}
              <details className="more">
                <summary>The same with curl</summary>
                <Curl ask={asked} />
              </details>
            </div>
          </Panel>
        )}
        <Panel title="Form preview">
          {schema.fault === '' ? (
            <Suspense fallback={<Loading what="the form" />}>
              <SchemaForm
                key={schemaText}
                isStored={schemaText === stored}
                schema={schema.value as Record<string, unknown>}
                data={sample}
                onChange={setSample}
              />
              <details className="more">
                <summary>What would be sent</summary>
                <pre className="code">{JSON.stringify(sample, null, 2)}</pre>
              </details>
            </Suspense>
          ) : (
            <p className="quiet">The schema cannot be read yet.</p>
          )}
        </Panel>
      </div>
    </div>
  )
}
