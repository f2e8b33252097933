/** The field that narrows a list by words; it waits until one has stopped typing, and follows when the words change elsewhere. */
import { TextInput } from '@mantine/core'
import { useEffect, useEffectEvent, useState } from 'react'
import { Icon } from './icons.tsx'

const PAUSE_MS = 300

export function Find({
  what,
  label = 'Find',
  value,
  onFind,
}: {
  readonly what: string
  readonly label?: string
  readonly value: string
  readonly onFind: (words: string) => void
}) {
  const [typed, setTyped] = useState(value)
  const [known, setKnown] = useState(value)
  if (value !== known) {
    setKnown(value)
    if (typed.trim() !== value) setTyped(value)
  }
  const find = useEffectEvent(onFind)
  useEffect(() => {
    const words = typed.trim()
    if (words === known) return
    const pause = setTimeout(() => find(words), PAUSE_MS)
    return () => clearTimeout(pause)
  }, [typed, known])
  return (
    <TextInput
      className="grow"
      label={label}
      placeholder={what}
      value={typed}
      onChange={event => setTyped(event.currentTarget.value)}
      size="xs"
      leftSection={<Icon name="search" size={14} />}
    />
  )
}
