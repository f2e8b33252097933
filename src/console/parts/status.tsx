/** A status, state or result as a word with its colour beside it: never colour alone. */
import { readable, type Tone, toneOf, toneOfOperation } from '../words.ts'

export function Status({ word, tone = toneOf(word) }: { readonly word: string; readonly tone?: Tone }) {
  return (
    <span className={`status tone-${tone}`} title={word}>
      <span className="status-dot" aria-hidden="true" />
      {readable(word)}
    </span>
  )
}

/** The status of an operation, in the colour of how it went. */
export function OperationStatus({ of: { status, result } }: { readonly of: { status: string; result: string } }) {
  return <Status word={status} tone={toneOfOperation(status, result)} />
}
