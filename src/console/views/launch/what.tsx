/** The first step: which operation, and its parameters in a form drawn from its schema. */
import { Select } from '@mantine/core'
import { lazy, Suspense, useState } from 'react'
import type { OperationTypeAnswer } from '../../../contract/client/client.ts'
import { Panel } from '../../parts/page.tsx'
import { Failed, Loading } from '../../parts/states.tsx'
import { persistent } from '../../persistent.ts'
import { useTypes } from '../../types.ts'
import type { Draft } from './draft.ts'

const SchemaForm = lazy(persistent(() => import('../../parts/schema-form.tsx')))

export interface StepProps {
  readonly draft: Draft
  readonly change: (change: Partial<Draft>) => void
}

const NO_SCHEMA = { type: 'object' }

const schemaOf = (type: OperationTypeAnswer | undefined): Readonly<Record<string, unknown>> =>
  type?.parameters ?? NO_SCHEMA

const hasParameters = (schema: Readonly<Record<string, unknown>>): boolean =>
  Object.keys((schema.properties as object | undefined) ?? {}).length > 0 || schema.additionalProperties !== false

export default function What({ draft, change }: StepProps) {
  const { types, isPending, isError, error, refetch } = useTypes()
  const [fits, setFits] = useState(true)
  const type = types.find(each => each.name === draft.name)
  const schema = schemaOf(type)
  if (isPending) return <Loading what="the operation types" />
  if (isError) return <Failed error={error} retry={() => void refetch()} />
  return (
    <Panel title="What">
      <div className="stack form">
        <Select
          label="Operation"
          description={type?.description ?? 'What the devices are to do'}
          placeholder="Choose"
          searchable
          data={types.map(each => ({
            value: each.name,
            label: each.title ? `${each.title} (${each.name})` : each.name,
          }))}
          value={draft.name || null}
          onChange={name => change({ name: name ?? '', parameters: {} })}
        />
        {type && hasParameters(schema) && (
          <fieldset className="plain">
            <legend className="strong">Parameters</legend>
            <Suspense fallback={<Loading what="the form" />}>
              <SchemaForm
                key={type.name}
                isStored
                schema={schema}
                data={draft.parameters}
                onChange={parameters => change({ parameters })}
                onJudged={setFits}
              />
            </Suspense>
            {!fits && <p className="warn small">Something does not fit yet; the plan tells what.</p>}
          </fieldset>
        )}
        {type && !hasParameters(schema) && <p className="quiet">This operation takes no parameters.</p>}
      </div>
    </Panel>
  )
}
