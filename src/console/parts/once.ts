/** What keeps a request that makes a job from making two: the key under which it is known again. */
import { useState } from 'react'
import type { Ask } from '../request.ts'

/** Puts its key on a request. What is asked the same again, by a second click or after an answer that never came, has the same key. */
export type Once = <Answered>(asked: Ask<Answered>) => Ask<Answered>

/** A key of its own for each different request. */
export function createOnce(): Once {
  const keys = new Map<string, string>()
  return asked => {
    const text = JSON.stringify([asked.name, asked.given])
    const key = keys.get(text) ?? newKey()
    keys.set(text, key)
    return { ...asked, given: { ...asked.given, header: { ...asked.given.header, 'idempotency-key': key } } }
  }
}

/** The same as long as what asks is open: opened anew it may make the same once more. */
export function useOnce(): Once {
  const [once] = useState(createOnce)
  return once
}

/** Of what a browser has also where the page came without TLS. */
const newKey = (): string =>
  Array.from(crypto.getRandomValues(new Uint8Array(16)), byte => byte.toString(16).padStart(2, '0')).join('')
