/** A table's rows as a file: streamed as CSV, all of them, with what has come so far and a way to stop. */
import { Button } from '@mantine/core'
import { useEffect, useRef, useState } from 'react'
import { bytes } from '../figures.tsx'
import { type Ask, CSV, download, save } from '../request.ts'
import { type Cell, csvText } from './csv-text.ts'
import { CurlButton } from './curl.tsx'
import { Icon } from './icons.tsx'
import { wordsOf } from './states.tsx'

/** The same for rows that are all here, such as those that a short list is narrowed to. */
export function CsvOfShown({
  name,
  columns,
  rows,
}: {
  readonly name: string
  readonly columns: readonly string[]
  readonly rows: () => readonly (readonly Cell[])[]
}) {
  return (
    <Button
      variant="default"
      size="xs"
      leftSection={<Icon name="down" size={14} />}
      onClick={() => save(new Blob([csvText(columns, rows())], { type: CSV }), `${name}.csv`)}
      aria-label={`Download ${name} as CSV`}
    >
      CSV
    </Button>
  )
}

/** How the rows of a request are taken elsewhere: the command that asks for them, and all of them as a file of that name. */
export function TakeAway({
  ask,
  name,
  what = 'This list',
}: {
  readonly ask: Ask<unknown>
  readonly name: string
  readonly what?: string
}) {
  return (
    <>
      <CurlButton ask={ask} what={what} />
      <CsvButton ask={ask} name={name} />
    </>
  )
}

function CsvButton({ ask, name }: { readonly ask: Ask<unknown>; readonly name: string }) {
  const [come, setCome] = useState<number | null>(null)
  const [fault, setFault] = useState('')
  const running = useRef<AbortController | null>(null)
  useEffect(() => () => running.current?.abort(), [])

  const start = async () => {
    const controller = new AbortController()
    running.current = controller
    setFault('')
    setCome(0)
    try {
      await download(ask, `${name}.csv`, setCome, controller.signal)
    } catch (error) {
      if (!controller.signal.aborted) setFault(wordsOf(error))
    } finally {
      setCome(null)
    }
  }

  return (
    <>
      <Button
        variant="default"
        size="xs"
        leftSection={<Icon name={come === null ? 'down' : 'close'} size={14} />}
        onClick={() => (come === null ? void start() : running.current?.abort())}
        aria-label={come === null ? `Download ${name} as CSV` : `Stop the download, ${bytes(come)} so far`}
      >
        {come === null ? 'CSV' : bytes(come)}
      </Button>
      {fault !== '' && (
        <span role="alert" className="bad small">
          {fault}
        </span>
      )}
    </>
  )
}
