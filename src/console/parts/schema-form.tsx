/** A form drawn from a JSON Schema. What is filled in is judged as it is typed; a schema that gives no form says why, and breaks nothing. */
import './schema-form.css'
import type { OutputUnit } from '@cfworker/json-schema'
import withTheme from '@rjsf/core/lib/withTheme.js'
import type { ErrorSchema, RJSFSchema, RJSFValidationError, UiSchema, ValidatorType } from '@rjsf/utils'
import { toErrorSchema } from '@rjsf/utils'
import { useEffect, useEffectEvent, useMemo, useState } from 'react'
import { Bounded } from './bounded.tsx'
import { FORM_TEMPLATES } from './form-templates.tsx'
import { FORM_WIDGETS } from './form-widgets.tsx'
import { Notice } from './notice.tsx'
import { faultOf, judge, lacksEngine, loadEngine, type ParameterSchema } from './schema-judge.ts'
import { Loading, wordsOf } from './states.tsx'

type Data = Readonly<Record<string, unknown>>

/** Where in the data an error is, as rjsf writes it: `.list.0.name`. */
function errorOf({ error, instanceLocation, keyword }: OutputUnit): RJSFValidationError {
  const path = instanceLocation.replace(/^#/, '').split('/').slice(1).map(decodeURIComponent)
  const missing = keyword === 'required' ? /"([^"]+)"\.$/.exec(error)?.[1] : undefined
  const property = [...path, ...(missing === undefined ? [] : [missing])].map(each => `.${each}`).join('')
  const message = missing === undefined ? error : 'is required'
  return { name: keyword, property, message, stack: `${property} ${message}`.trim() }
}

const validator: ValidatorType<Data> = {
  // The form is told what does not fit, and judges nothing but which of several schemas is meant.
  validateFormData: () => ({ errors: [], errorSchema: {} }),
  isValid(schema, data, root) {
    try {
      return judge(schema as ParameterSchema, data, root as ParameterSchema).length === 0
    } catch {
      return false
    }
  },
  rawValidation<Result>(schema: RJSFSchema, data?: Data) {
    return { errors: judge(schema as ParameterSchema, data) as Result[] }
  },
}

interface Props {
  readonly schema: ParameterSchema
  readonly data: Data
  readonly onChange: (data: Data) => void
  /** told whether what is filled in fits the schema */
  readonly onJudged?: (fits: boolean) => void
  /** the service has taken the schema: what is large about judging waits until something is filled in */
  readonly isStored?: boolean
}

const Form = withTheme<Data>({ templates: FORM_TEMPLATES, widgets: FORM_WIDGETS })

const BARE: UiSchema<Data> = { 'ui:title': ' ' }

function NoForm({ why }: { readonly why: string }) {
  return (
    <Notice>
      <p>No form can be drawn from this schema.</p>
      <p>{why}</p>
    </Notice>
  )
}

export default function SchemaForm({ schema, data, onChange, onJudged, isStored = false }: Props) {
  // Another object once the engine of patterns has come: what was let through without it is judged anew.
  const [judged, setJudged] = useState<{ readonly by: ParameterSchema } | null>(null)
  const [failed, setFailed] = useState('')
  const [isWanted, setWanted] = useState(false)
  const [isChanged, setChanged] = useState(false)
  const waits = isStored && !isWanted
  useEffect(() => {
    const lacks = lacksEngine(schema)
    if (waits || !lacks) {
      setJudged({ by: schema })
      return
    }
    let isShown = true
    loadEngine().then(
      () => isShown && setJudged({ by: schema }),
      error => isShown && setFailed(wordsOf(error)),
    )
    return () => {
      isShown = false
    }
  }, [schema, waits])
  const fault = useMemo(() => (judged ? faultOf(judged.by) : ''), [judged])
  const shown = useMemo(() => {
    const { title: _, ...rest } = judged?.by ?? {}
    return rest as RJSFSchema
  }, [judged])
  // Who has changed nothing is not told what is missing.
  const errors = useMemo(
    () => (judged && fault === '' && isChanged ? judge(judged.by, data).map(errorOf) : []),
    [judged, fault, isChanged, data],
  )
  const atFields = useMemo(() => toErrorSchema<Data>(errors) as ErrorSchema<Data>, [errors])
  const tell = useEffectEvent((fits: boolean) => onJudged?.(fits))
  useEffect(() => {
    if (isChanged) tell(errors.length === 0)
  }, [isChanged, errors])
  if (fault !== '' || failed !== '') return <NoForm why={fault || failed} />
  if (!judged) return <Loading what="the form" />
  return (
    <Bounded otherwise={error => <NoForm why={String(error)} />}>
      <Form
        className="schema-form"
        schema={shown}
        formData={data}
        uiSchema={BARE}
        validator={validator}
        extraErrors={atFields}
        showErrorList={false}
        tagName="div"
        onFocus={() => setWanted(true)}
        onChange={({ formData }) => {
          setChanged(true)
          setWanted(true)
          onChange(formData ?? {})
        }}
      />
    </Bounded>
  )
}
