/** How a form in a dialog ends: what went wrong, the command that does the same, and the two ways out. */
import { Button } from '@mantine/core'
import type { Ask } from '../request.ts'
import { Curl } from './curl.tsx'
import { Failed } from './states.tsx'

export function DialogEnd({
  ask,
  error,
  verb,
  danger = false,
  disabled = false,
  isPending,
  onLeave,
}: {
  /** the request that the form makes */
  readonly ask: Ask<unknown>
  readonly error: unknown
  readonly verb: string
  readonly danger?: boolean
  readonly disabled?: boolean
  readonly isPending: boolean
  readonly onLeave: () => void
}) {
  return (
    <>
      {error !== null && <Failed error={error} />}
      <details className="more">
        <summary>The same with curl</summary>
        <Curl ask={ask} />
      </details>
      <div className="row row-end">
        <Button variant="default" onClick={onLeave}>
          Leave it
        </Button>
        <Button type="submit" {...(danger && { color: 'red' })} disabled={disabled} loading={isPending}>
          {verb}
        </Button>
      </div>
    </>
  )
}
