/** The field that narrows a list by words; it waits until one has stopped typing. */
import { TextInput } from '@mantine/core'
import { useDebouncedCallback } from '@mantine/hooks'
import { Icon } from './icons.tsx'

export function Find({
  what,
  value,
  onFind,
}: {
  readonly what: string
  readonly value: string
  readonly onFind: (words: string) => void
}) {
  const find = useDebouncedCallback((words: string, typedAt: string) => {
    // Who has gone on to another view meanwhile is not brought back.
    if (location.pathname === typedAt) onFind(words.trim())
  }, 300)
  return (
    <TextInput
      className="grow"
      label="Find"
      placeholder={what}
      defaultValue={value}
      onChange={event => find(event.currentTarget.value, location.pathname)}
      size="xs"
      leftSection={<Icon name="search" size={14} />}
    />
  )
}
