/** What stands where data would: not yet, none, or not to be had, each with what can be done about it. */
import { Button } from '@mantine/core'
import type { ReactNode } from 'react'
import { Refused } from '../request.ts'
import { Icon } from './icons.tsx'

export function Loading({ what }: { readonly what: string }) {
  return (
    <div className="state" role="status">
      <span className="spinner" aria-hidden="true" />
      Loading {what}…
    </div>
  )
}

export function Empty({ children, action }: { readonly children: ReactNode; readonly action?: ReactNode }) {
  return (
    <div className="state">
      <p>{children}</p>
      {action}
    </div>
  )
}

/** An error in the service's own words, with its code and the fields it names. */
export function Failed({ error, retry }: { readonly error: unknown; readonly retry?: () => void }) {
  const errors = error instanceof Refused ? error.errors : []
  return (
    <div className="problem" role="alert">
      <Icon name="warning" size={18} />
      <div>
        {errors.length === 0 && <p>{wordsOf(error)}</p>}
        {errors.map(({ code, message, context = [] }) => (
          <div key={code + message}>
            <p>{message}</p>
            {context.length > 0 && (
              <ul>
                {context.map(({ name, value }) => (
                  <li key={`${name}${String(value)}`}>
                    <code>{name}</code>
                    {value !== undefined && value !== null && (
                      <> {typeof value === 'string' ? value : JSON.stringify(value)}</>
                    )}
                  </li>
                ))}
              </ul>
            )}
            <p className="small">Error {code}</p>
          </div>
        ))}
        {retry && (
          <Button size="compact-sm" variant="default" onClick={retry}>
            Try again
          </Button>
        )}
      </div>
    </div>
  )
}

/** What went wrong, in one sentence. */
export function wordsOf(error: unknown): string {
  if (error instanceof Refused) return error.message
  if (error instanceof TypeError) return 'The service cannot be reached.'
  if (error instanceof DOMException && error.name === 'TimeoutError') return 'The service did not answer in time.'
  return error instanceof Error ? error.message : String(error)
}
