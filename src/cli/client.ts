/** The command line's way to a service: the public interface over HTTP, and nothing else. */

/** An answer that was not what was asked for. */
export class RequestFailed extends Error {
  readonly status: number
  readonly body: string

  constructor(method: string, path: string, status: number, body: string) {
    super(`${method} ${path} was answered ${status}: ${body.slice(0, 500)}`)
    this.name = 'RequestFailed'
    this.status = status
    this.body = body
  }
}

export interface Client {
  readonly url: string
  /** Sends a request and reads its JSON; undefined for an answer without a body. Fails with `RequestFailed`, or as the network does. */
  request<Answer>(method: string, path: string, body?: unknown): Promise<Answer | undefined>
}

const REQUEST_MS = 60_000

/** A client of the service at `url` with a user's API key. */
export function createClient(url: string, apiKey: string): Client {
  return {
    url,
    async request<Answer>(method: string, path: string, body?: unknown) {
      const response = await fetch(`${url}${path}`, {
        method,
        headers: { 'x-apikey': apiKey, ...(body !== undefined && { 'content-type': 'application/json' }) },
        ...(body !== undefined && { body: JSON.stringify(body) }),
        signal: AbortSignal.timeout(REQUEST_MS),
      })
      const text = await response.text()
      if (!response.ok) throw new RequestFailed(method, path, response.status, text)
      return text === '' ? undefined : (JSON.parse(text) as Answer)
    },
  }
}
