/**
 * What is filled in in a form drawn from a schema: one widget for each kind of value that a schema can say, made of the console's own
 * fields. What only a description beside the schema could ask for, such as a slider, is not here: there is none.
 */
import { Checkbox, FileButton, Input, Select, TextInput } from '@mantine/core'
import type { BaseInputTemplateProps, RegistryWidgetsType, WidgetProps } from '@rjsf/utils'
import { deepEquals, getInputProps, localToUTC, utcToLocal } from '@rjsf/utils'
import { Icon } from './icons.tsx'

/** What every field says of itself. */
function saidOf(props: WidgetProps) {
  const { id, label, hideLabel, schema, required, rawErrors = [], disabled, readonly, value, onFocus } = props
  return {
    id,
    name: id,
    onFocus: () => onFocus(id, value),
    ...(hideLabel ? { 'aria-label': label } : { label }),
    ...(!hideLabel && schema.description && { description: schema.description }),
    required: required === true,
    disabled: disabled === true || readonly === true,
    error: rawErrors.length > 0 && rawErrors.join('\n'),
  }
}

/** A text, a number, or whatever else the browser has a line to type in for. */
export function TextLine(props: BaseInputTemplateProps) {
  const { value, schema, type, options, placeholder, onChange } = props
  const { type: kind = 'text', step, min, max } = getInputProps(schema, type, options)
  return (
    <TextInput
      {...saidOf(props)}
      {...(step !== undefined && { step })}
      {...(min !== undefined && { min })}
      {...(max !== undefined && { max })}
      type={kind}
      placeholder={placeholder ?? ''}
      value={(value as string | number | undefined) ?? ''}
      onChange={event => onChange(event.currentTarget.value === '' ? options.emptyValue : event.currentTarget.value)}
    />
  )
}

const Line = (props: WidgetProps) => <TextLine {...props} />

/** An instant: local to whoever types it, sent as UTC. */
const Moment = (props: WidgetProps) => (
  <TextLine
    {...props}
    type="datetime-local"
    value={utcToLocal(props.value as string)}
    onChange={(local: string | undefined) => props.onChange(local ? localToUTC(local) : undefined)}
  />
)

function Choice(props: WidgetProps) {
  const { value, multiple = false, options, onChange } = props
  const { enumOptions = [] } = options
  if (multiple) return <Choices {...props} />
  const chosen = enumOptions.findIndex(each => deepEquals(each.value, value))
  return (
    <Select
      {...saidOf(props)}
      data={enumOptions.map(({ label }, index) => ({ value: String(index), label }))}
      value={chosen < 0 ? null : String(chosen)}
      searchable
      comboboxProps={{ withinPortal: false }}
      onChange={index => onChange(index === null ? options.emptyValue : enumOptions[Number(index)]?.value)}
    />
  )
}

/** Several of the values that there are, in the order of the schema. */
function Choices(props: WidgetProps) {
  const { id, label, hideLabel, value, options, required, rawErrors = [], onChange } = props
  const { enumOptions = [] } = options
  const chosen: readonly unknown[] = Array.isArray(value) ? value : []
  const isChosen = (each: unknown) => chosen.some(one => deepEquals(one, each))
  const { disabled, onFocus } = saidOf(props)
  return (
    <Input.Wrapper
      label={hideLabel ? '' : label}
      labelElement="div"
      required={required === true}
      error={rawErrors.length > 0 && rawErrors.join('\n')}
    >
      <div className="row" id={id}>
        {enumOptions.map(({ label: name, value: own }, index) => (
          <Checkbox
            key={name}
            label={name}
            disabled={disabled}
            onFocus={onFocus}
            checked={isChosen(own)}
            onChange={event => {
              const { checked } = event.currentTarget
              onChange(
                enumOptions.filter((each, at) => (at === index ? checked : isChosen(each.value))).map(e => e.value),
              )
            }}
          />
        ))}
      </div>
    </Input.Wrapper>
  )
}

const YesOrNo = (props: WidgetProps) => (
  <Checkbox
    {...saidOf(props)}
    checked={props.value === true}
    onChange={event => props.onChange(event.currentTarget.checked)}
  />
)

const readAsUrl = (file: File) =>
  new Promise<string>((resolve, reject) => {
    const reader = new FileReader()
    reader.onload = () => resolve(String(reader.result))
    reader.onerror = () => reject(reader.error ?? new Error('The file cannot be read.'))
    reader.readAsDataURL(file)
  })

/** A file, sent whole as a data URL: typed, pasted, or chosen. */
function WholeFile(props: WidgetProps) {
  return (
    <div className="row">
      <TextLine {...props} type="text" />
      <FileButton onChange={file => file && void readAsUrl(file).then(props.onChange, () => {})}>
        {button => (
          <button type="button" className="link" onClick={button.onClick}>
            <Icon name="plus" size={14} /> Choose a file
          </button>
        )}
      </FileButton>
    </div>
  )
}

/** By the names under which the forms' library asks for them. */
export const FORM_WIDGETS: RegistryWidgetsType = {
  TextWidget: Line,
  EmailWidget: Line,
  URLWidget: Line,
  TimeWidget: Line,
  ColorWidget: Line,
  UpDownWidget: Line,
  DateWidget: props => <TextLine {...props} type="date" />,
  DateTimeWidget: Moment,
  SelectWidget: Choice,
  CheckboxWidget: YesOrNo,
  FileWidget: WholeFile,
}
