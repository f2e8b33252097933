/** Entities in their flattened form: the values in their boxes. */

/** What is in a box: its value and, where it was collected, when. */
export function boxed(box: unknown): { readonly value: unknown; readonly at?: string } {
  const { value, at, date } =
    (box as { _value?: { _current?: { value?: unknown; at?: string; date?: string } } } | undefined)?._value
      ?._current ?? {}
  const when = at ?? date
  return { value, ...(typeof when === 'string' && { at: when }) }
}

/** The value in a box, or in a list of boxes, as text. */
export const textIn = (box: unknown): string =>
  textOf(Array.isArray(box) ? box.map(each => boxed(each).value) : boxed(box).value)

/** A value as text: lists with commas, objects by their name or as JSON. */
export function textOf(value: unknown): string {
  if (value === undefined || value === null) return ''
  if (Array.isArray(value)) return value.map(String).join(', ')
  if (typeof value === 'object') return String((value as { name?: unknown }).name ?? JSON.stringify(value))
  return String(value)
}

/** What an entity is called. */
export function identifierOf(row: Readonly<Record<string, unknown>>): string {
  return textIn(row['provision.administration.identifier']) || textIn(row['provision.device.identifier'])
}
