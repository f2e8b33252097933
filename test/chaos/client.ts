/**
 * A client that does not give up: it repeats a request until it is answered with something else than "not now", as an application
 * does that must know. It counts every status it meets.
 */
import { setTimeout as sleep } from 'node:timers/promises'

export interface StubbornAnswer<Body> {
  readonly status: number
  readonly body: Body
  /** when the first try was sent, and when the last was answered */
  readonly askedAt: number
  readonly answeredAt: number
  readonly tries: number
}

export interface StubbornClient {
  /** by status; `0` is no answer at all */
  readonly statuses: Map<number, number>
  /** refusals that do not say clearly what a client can do */
  readonly faults: string[]
  /** Repeats until a status below 500. Fails after `PATIENCE_MS`, or when the run is over. */
  call<Body>(
    method: string,
    path: string,
    body?: unknown,
    headers?: Record<string, string>,
  ): Promise<StubbornAnswer<Body>>
  /** One try; status 0 where there was no answer. */
  once<Body>(
    method: string,
    path: string,
    body?: unknown,
    headers?: Record<string, string>,
  ): Promise<{ status: number; body: Body }>
}

const ANSWER_MS = 20_000
const PAUSE_MS = 250
const PATIENCE_MS = 180_000

export function createStubbornClient(url: string, apiKey: string, over: AbortSignal): StubbornClient {
  const statuses = new Map<number, number>()
  const faults: string[] = []

  async function once<Body>(method: string, path: string, body?: unknown, headers: Record<string, string> = {}) {
    let status = 0
    let text = ''
    try {
      const response = await fetch(`${url}${path}`, {
        method,
        headers: { 'x-apikey': apiKey, ...(body !== undefined && { 'content-type': 'application/json' }), ...headers },
        ...(body !== undefined && { body: JSON.stringify(body) }),
        signal: AbortSignal.any([over, AbortSignal.timeout(ANSWER_MS)]),
      })
      text = await response.text()
      status = response.status
    } catch {
      over.throwIfAborted()
    }
    statuses.set(status, (statuses.get(status) ?? 0) + 1)
    if (status === 500 || (status > 500 && !text.startsWith('{"errors":['))) {
      faults.push(`${method} ${path}: ${status} ${text}`.slice(0, 300))
    }
    return { status, body: (text === '' ? undefined : JSON.parse(text)) as Body }
  }

  return {
    statuses,
    faults,
    once,
    async call<Body>(method: string, path: string, body?: unknown, headers: Record<string, string> = {}) {
      const askedAt = Date.now()
      for (let tries = 1; ; tries += 1) {
        const answer = await once<Body>(method, path, body, headers)
        if (answer.status > 0 && answer.status < 500) return { ...answer, askedAt, answeredAt: Date.now(), tries }
        if (Date.now() - askedAt > PATIENCE_MS) {
          throw new Error(
            `${method} ${path} was not answered within ${PATIENCE_MS} ms, the last time with ${answer.status}`,
          )
        }
        await sleep(PAUSE_MS, undefined, { signal: over })
      }
    },
  }
}
