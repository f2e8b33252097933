/** How a form drawn from a schema is laid out: fields below each other, lists and objects within a line, each with a word for what it does. */
import { Button, TextInput } from '@mantine/core'
import type {
  ArrayFieldItemTemplateProps,
  ArrayFieldTemplateProps,
  CyclicSchemaExpandProps,
  FieldTemplateProps,
  MultiSchemaFieldTemplateProps,
  ObjectFieldTemplateProps,
  OptionalDataControlsTemplateProps,
  TemplatesType,
  UnsupportedFieldProps,
} from '@rjsf/utils'
import { ADDITIONAL_PROPERTY_FLAG, canExpand } from '@rjsf/utils'
import type { ReactNode } from 'react'
import { TextLine } from './form-widgets.tsx'
import { Icon, type IconName } from './icons.tsx'

function Small({
  icon,
  onClick,
  disabled = false,
  children,
}: {
  readonly icon?: IconName
  readonly onClick: () => void
  readonly disabled?: boolean
  readonly children: ReactNode
}) {
  return (
    <Button
      variant="default"
      size="compact-sm"
      disabled={disabled}
      onClick={onClick}
      {...(icon && { leftSection: <Icon name={icon} size={14} /> })}
    >
      {children}
    </Button>
  )
}

/** What belongs together, under its name. */
function Group({
  id,
  title,
  description,
  errors = [],
  children,
}: {
  readonly id: string
  readonly title: string
  readonly description?: ReactNode
  readonly errors?: readonly string[]
  readonly children: ReactNode
}) {
  const isNamed = title.trim() !== ''
  return (
    <fieldset id={id} className={isNamed ? 'form-group' : 'plain'}>
      {isNamed && <legend className="strong">{title}</legend>}
      {description && <p className="quiet small">{description}</p>}
      {errors.map(each => (
        <p key={each} className="bad small">
          {each}
        </p>
      ))}
      <div className="stack">{children}</div>
    </fieldset>
  )
}

function ListOf({ fieldPathId, title, schema, items, canAdd, onAddClick, disabled, ...rest }: ArrayFieldTemplateProps) {
  const { rawErrors = [], optionalDataControl, readonly } = rest
  return (
    <Group id={fieldPathId.$id} title={title} description={schema.description} errors={rawErrors}>
      {optionalDataControl}
      {items}
      {canAdd && (
        <div>
          <Small icon="plus" onClick={onAddClick} disabled={disabled === true || readonly === true}>
            {title ? `Add to ${title.toLowerCase()}` : 'Add one'}
          </Small>
        </div>
      )}
    </Group>
  )
}

function ItemOf({ children, hasToolbar, buttonsProps, index }: ArrayFieldItemTemplateProps) {
  const { hasMoveUp, hasMoveDown, hasRemove, onMoveUpItem, onMoveDownItem, onRemoveItem } = buttonsProps
  return (
    <div className="form-item">
      <div>{children}</div>
      {hasToolbar && (
        <div className="row">
          {hasMoveUp && <Small onClick={onMoveUpItem}>Up</Small>}
          {hasMoveDown && <Small onClick={onMoveDownItem}>Down</Small>}
          {hasRemove && (
            <Small icon="close" onClick={onRemoveItem}>
              Remove {index + 1}
            </Small>
          )}
        </div>
      )}
    </div>
  )
}

function ObjectOf({
  fieldPathId,
  title,
  description,
  properties,
  schema,
  uiSchema,
  ...rest
}: ObjectFieldTemplateProps) {
  const { formData, onAddProperty, optionalDataControl, disabled, readonly } = rest
  const { __errors: errors = [] } = rest.errorSchema ?? {}
  return (
    <Group id={fieldPathId.$id} title={title} description={description} errors={errors}>
      {optionalDataControl}
      {properties.filter(each => !each.hidden).map(each => each.content)}
      {canExpand(schema, uiSchema, formData as object) && (
        <div>
          <Small icon="plus" onClick={onAddProperty} disabled={disabled === true || readonly === true}>
            Add a member
          </Small>
        </div>
      )}
    </Group>
  )
}

/** A field; one that the schema does not name is given its name here. */
function Field({ id, label, schema, hidden, children, onKeyRenameBlur, onRemoveProperty }: FieldTemplateProps) {
  if (hidden) return <div hidden>{children}</div>
  if (!(ADDITIONAL_PROPERTY_FLAG in schema)) return children
  return (
    <div className="form-member">
      <TextInput key={label} label="Name" id={`${id}-key`} defaultValue={label} onBlur={onKeyRenameBlur} />
      <div>{children}</div>
      <div>
        <Small icon="close" onClick={onRemoveProperty}>
          Remove {label}
        </Small>
      </div>
    </div>
  )
}

const OneOf = ({ selector, optionSchemaField }: MultiSchemaFieldTemplateProps) => (
  <div className="stack">
    {selector}
    {optionSchemaField}
  </div>
)

function Optional({ label, onAddClick, onRemoveClick }: OptionalDataControlsTemplateProps) {
  const onClick = onAddClick ?? onRemoveClick
  return onClick ? <Small onClick={onClick}>{label}</Small> : <em className="quiet">{label}</em>
}

const Deeper = ({ name, fieldPathId, onExpand }: CyclicSchemaExpandProps) => (
  <Small onClick={() => onExpand(fieldPathId.$id)}>Show {name}</Small>
)

const Unknown = ({ reason }: UnsupportedFieldProps) => <p className="warn small">No field can be drawn: {reason}</p>

const Nothing = () => null

const NO_BUTTONS = {
  SubmitButton: Nothing,
  AddButton: Nothing,
  CopyButton: Nothing,
  MoveDownButton: Nothing,
  MoveUpButton: Nothing,
  RemoveButton: Nothing,
  ClearButton: Nothing,
}

/** By the names under which the forms' library asks for them. */
export const FORM_TEMPLATES: Partial<TemplatesType> = {
  ArrayFieldTemplate: ListOf,
  ArrayFieldItemTemplate: ItemOf,
  ArrayFieldItemButtonsTemplate: Nothing,
  ArrayFieldTitleTemplate: Nothing,
  ArrayFieldDescriptionTemplate: Nothing,
  BaseInputTemplate: TextLine,
  // What is drawn here has its own buttons, and the form is sent by what stands around it.
  ButtonTemplates: NO_BUTTONS,
  CyclicSchemaExpandTemplate: Deeper,
  // Each field tells its own description and errors.
  DescriptionFieldTemplate: Nothing,
  ErrorListTemplate: Nothing,
  FallbackFieldTemplate: ({ typeSelector, schemaField }) => (
    <div className="stack">
      {typeSelector}
      {schemaField}
    </div>
  ),
  FieldErrorTemplate: Nothing,
  FieldHelpTemplate: Nothing,
  FieldTemplate: Field,
  MultiSchemaFieldTemplate: OneOf,
  ObjectFieldTemplate: ObjectOf,
  OptionalDataControlsTemplate: Optional,
  TitleFieldTemplate: Nothing,
  UnsupportedFieldTemplate: Unknown,
}
