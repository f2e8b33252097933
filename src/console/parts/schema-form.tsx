/** A form drawn from a JSON Schema. What is filled in is judged as it is typed; a schema that gives no form says why, and breaks nothing. */
import './schema-form.css'
import type { OutputUnit } from '@cfworker/json-schema'
import type FormOfLibrary from '@rjsf/core'
import withTheme from '@rjsf/core/lib/withTheme.js'
import type { ErrorSchema, RJSFSchema, RJSFValidationError, UiSchema, ValidatorType } from '@rjsf/utils'
import { createErrorHandler, toErrorSchema, unwrapErrorHandler, validationDataMerge } from '@rjsf/utils'
import { useEffect, useEffectEvent, useMemo, useRef, useState } from 'react'
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
  validateFormData(data, schema, customValidate, transformErrors, uiSchema) {
    const found = judge(schema as ParameterSchema, data ?? {}).map(errorOf)
    const errors = transformErrors ? transformErrors(found, uiSchema) : found
    const told = { errors, errorSchema: toErrorSchema<Data>(errors) as ErrorSchema<Data> }
    if (!customValidate) return told
    const own = customValidate(data, createErrorHandler<Data>(data ?? {}), uiSchema)
    return validationDataMerge(told, unwrapErrorHandler(own))
  },
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
  const [judged, setJudged] = useState<ParameterSchema | null>(null)
  const [failed, setFailed] = useState('')
  const [isWanted, setWanted] = useState(false)
  const isChanged = useRef(false)
  const form = useRef<FormOfLibrary<Data>>(null)
  const judgeAgain = useEffectEvent(() => {
    setJudged(schema)
    // What was let through while the engine was on its way; who has changed nothing is not told what is missing.
    if (isChanged.current && form.current) onJudged?.(form.current.validateForm())
  })
  const waits = isStored && !isWanted
  useEffect(() => {
    if (waits) setJudged(schema)
    else if (!lacksEngine(schema)) judgeAgain()
    if (waits || !lacksEngine(schema)) return
    let isShown = true
    loadEngine().then(
      () => isShown && judgeAgain(),
      error => isShown && setFailed(wordsOf(error)),
    )
    return () => {
      isShown = false
    }
  }, [schema, waits])
  const fault = useMemo(() => (judged ? faultOf(judged) : ''), [judged])
  const shown = useMemo(() => {
    const { title: _, ...rest } = judged ?? {}
    return rest as RJSFSchema
  }, [judged])
  if (fault !== '' || failed !== '') return <NoForm why={fault || failed} />
  if (!judged) return <Loading what="the form" />
  return (
    <Bounded otherwise={error => <NoForm why={String(error)} />}>
      <Form
        ref={form}
        className="schema-form"
        schema={shown}
        formData={data}
        uiSchema={BARE}
        validator={validator}
        liveValidate
        showErrorList={false}
        tagName="div"
        onFocus={() => setWanted(true)}
        // What does not fit stands at its field.
        onError={() => {}}
        onChange={({ formData, errors }) => {
          isChanged.current = true
          setWanted(true)
          onChange(formData ?? {})
          onJudged?.(errors.length === 0)
        }}
      />
    </Bounded>
  )
}
