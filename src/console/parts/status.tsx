/** A status, state or result as a word with its colour beside it: never colour alone. */
import { readable, toneOf } from '../words.ts'

export function Status({ word }: { readonly word: string }) {
  return (
    <span className={`status tone-${toneOf(word)}`} title={word}>
      <span className="status-dot" aria-hidden="true" />
      {readable(word)}
    </span>
  )
}
