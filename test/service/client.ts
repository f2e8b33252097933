/** A client of the interface as an application writes it: one request, its status, headers and JSON, whatever they are. */

export interface Answer<Body> {
  readonly status: number
  readonly headers: Headers
  /** the JSON of the answer; undefined without a body, the text where it is not JSON */
  readonly body: Body
}

export interface Client {
  readonly url: string
  readonly apiKey: string
  call<Body>(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Answer<Body>>
}

const ANSWER_MS = 30_000

/** A client with a user's key. Headers of a call replace its own, an empty one takes it away. A text as body is sent as it is. */
export function createClient(url: string, apiKey: string): Client {
  return {
    url,
    apiKey,
    async call<Body>(method: string, path: string, body?: unknown, headers: Record<string, string> = {}) {
      const response = await fetch(`${url}${path}`, {
        method,
        headers: Object.entries({
          ...(!('authorization' in headers) && { 'x-apikey': apiKey }),
          ...(body !== undefined && { 'content-type': 'application/json' }),
          ...headers,
        }).filter(([, value]) => value !== ''),
        ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
        signal: AbortSignal.timeout(ANSWER_MS),
      })
      const text = await response.text()
      return { status: response.status, headers: response.headers, body: read(text) as Body }
    },
  }
}

function read(text: string): unknown {
  if (text === '') return undefined
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}
