/**
 * A form drawn from a JSON Schema. What is filled in is judged here by an interpreter of schemas, since the content security policy
 * allows no code made at run time; the service judges it again.
 */
import '@mantine/core/styles/Fieldset.layer.css'
import '@mantine/core/styles/Grid.layer.css'
import '@mantine/core/styles/SimpleGrid.layer.css'
import '@mantine/core/styles/List.layer.css'
import '@mantine/core/styles/Pill.layer.css'
import '@mantine/core/styles/PillsInput.layer.css'
import { type OutputUnit, Validator } from '@cfworker/json-schema'
import { generateForm } from '@rjsf/mantine'
import type { ErrorSchema, RJSFSchema, RJSFValidationError, UiSchema, ValidatorType } from '@rjsf/utils'
import { createErrorHandler, toErrorSchema, unwrapErrorHandler, validationDataMerge } from '@rjsf/utils'
import { useMemo } from 'react'

type Data = Readonly<Record<string, unknown>>

/** Where in the data an error is, as rjsf writes it: `.list.0.name`. */
function errorOf({ error, instanceLocation, keyword }: OutputUnit): RJSFValidationError {
  const path = instanceLocation.replace(/^#/, '').split('/').slice(1).map(decodeURIComponent)
  const missing = keyword === 'required' ? /"([^"]+)"\.$/.exec(error)?.[1] : undefined
  const property = [...path, ...(missing === undefined ? [] : [missing])].map(each => `.${each}`).join('')
  const message = missing === undefined ? error : 'is required'
  return { name: keyword, property, message, stack: `${property} ${message}`.trim() }
}

/** Keywords that only say that something within is wrong. */
const SUMS = new Set(['properties', 'items', 'prefixItems', 'allOf', 'additionalProperties', 'dependentSchemas'])

function judged(schema: RJSFSchema, data: unknown, root?: RJSFSchema): OutputUnit[] {
  const whole = root && !('$defs' in schema) ? { ...schema, $defs: root.$defs, definitions: root.definitions } : schema
  const { errors } = new Validator(JSON.parse(JSON.stringify(whole)), '7', false).validate(data ?? null)
  return errors.filter(each => !SUMS.has(each.keyword))
}

const validator: ValidatorType<Data> = {
  validateFormData(data, schema, customValidate, transformErrors, uiSchema) {
    const found = judged(schema, data ?? {}).map(errorOf)
    const errors = transformErrors ? transformErrors(found, uiSchema) : found
    const told = { errors, errorSchema: toErrorSchema<Data>(errors) as ErrorSchema<Data> }
    if (!customValidate) return told
    const own = customValidate(data, createErrorHandler<Data>(data ?? {}), uiSchema)
    return validationDataMerge(told, unwrapErrorHandler(own))
  },
  isValid(schema, data, root) {
    try {
      return judged(schema, data, root).length === 0
    } catch {
      return false
    }
  },
  rawValidation<Result>(schema: RJSFSchema, data?: Data) {
    return { errors: judged(schema, data) as Result[] }
  },
}

interface Props {
  readonly schema: Readonly<Record<string, unknown>>
  readonly data: Data
  readonly onChange: (data: Data) => void
  /** told whether what is filled in fits the schema */
  readonly onJudged?: (fits: boolean) => void
}

const Form = generateForm<Data>()

const BARE: UiSchema<Data> = { 'ui:submitButtonOptions': { norender: true }, 'ui:title': ' ' }

export default function SchemaForm({ schema, data, onChange, onJudged }: Props) {
  const shown = useMemo(() => {
    const { title: _, ...rest } = schema
    return rest as RJSFSchema
  }, [schema])
  return (
    <Form
      className="schema-form"
      schema={shown}
      formData={data}
      uiSchema={BARE}
      validator={validator}
      liveValidate
      showErrorList={false}
      tagName="div"
      onChange={({ formData, errors }) => {
        onChange(formData ?? {})
        onJudged?.(errors.length === 0)
      }}
    />
  )
}
