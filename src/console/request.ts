/**
 * One request to the client interface: done by the typed client, told as the equivalent curl, or streamed as CSV into a file. With
 * the live events it is all that reaches the network.
 */
import { type Answer, createClient, type GivenTo, type OperationName, Refused } from '../contract/client/client.ts'
import { presentSession, signOut } from './session.ts'

export { Refused }

interface Given {
  readonly path?: Readonly<Record<string, unknown>>
  readonly query?: Readonly<Record<string, unknown>>
  readonly header?: Readonly<Record<string, unknown>>
  readonly body?: unknown
}

/** A request as a value: the same is sent, kept by, and shown as a command. */
export interface Ask<Answered> {
  readonly name: OperationName
  readonly given: Given
  /** never there: only says what is answered */
  readonly answers?: Answered
}

const NORTH = '/north/v80'

const client = createClient({
  url: '',
  credentials: (): Record<string, string> => {
    const session = presentSession()
    return session ? { authorization: `Bearer ${session.token}` } : {}
  },
})

/** A request of the interface, checked against what it takes. */
export function asking<Name extends OperationName>(name: Name, ...[given]: GivenTo<Name>): Ask<Answer<Name>> {
  return { name, given: (given ?? {}) as Given }
}

/** Does a request. A token that is no longer good ends the session. Throws `Refused`, or a TypeError without a connection. */
export function ask<Answered>({ name, given }: Ask<Answered>, signal?: AbortSignal): Promise<Answered> {
  // Where the own password is proved, what is not good may be that.
  const proves = given.header?.['x-apipass'] !== undefined
  return watched(() => client.call(name, { ...given, ...(signal && { signal }) } as never) as Promise<Answered>, proves)
}

/** Does a request and answers the response itself, for its headers or as a stream. */
export function open({ name, given }: Ask<unknown>, accept: string, signal?: AbortSignal): Promise<Response> {
  return watched(() => client.open(name, accept, { ...given, ...(signal && { signal }) } as never))
}

async function watched<T>(send: () => Promise<T>, provesPassword = false): Promise<T> {
  const token = presentSession()?.token
  try {
    return await send()
  } catch (error) {
    const isTokenBad = error instanceof Refused && error.status === 401 && !provesPassword
    if (isTokenBad && token && presentSession()?.token === token) signOut()
    throw error
  }
}

/** The address of a request, with its query, below the service's own. */
export function addressOf({ name, given: { path = {}, query = {} } }: Ask<unknown>): string {
  const [, address = ''] = name.split(' ')
  const set = Object.entries(query).filter(([, value]) => value !== undefined && value !== '')
  const text = new URLSearchParams(set.map(([key, value]) => [key, String(value)])).toString()
  const filled = address.replace(/\{(\w+)\}/g, (_, key: string) => encodeURIComponent(String(path[key])))
  return `${NORTH}${filled}${text && `?${text}`}`
}

const quoted = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`

/** The request as a command; what proves who asks is left to the shell. */
export function curlOf(asked: Ask<unknown>, accept?: string, options = ''): string {
  const [method = ''] = asked.name.split(' ')
  const { header = {}, body } = asked.given
  const lines = [`curl${options} -H "X-ApiKey: $DROVER_API_KEY"`]
  if (method !== 'GET' && !(method === 'POST' && body !== undefined)) lines[0] += ` -X ${method}`
  if (accept) lines.push(`-H 'accept: ${accept}'`)
  for (const [key, value] of Object.entries(header)) {
    if (value === undefined) continue
    lines.push(key.toLowerCase() === 'x-apipass' ? `-H "X-ApiPass: $PASSWORD"` : `-H ${quoted(`${key}: ${value}`)}`)
  }
  if (body !== undefined) lines.push(`-H 'content-type: application/json'`)
  lines.push(`"$DROVER_URL${addressOf(asked)}"`)
  if (body !== undefined) lines.push(`-d ${quoted(JSON.stringify(body, hidden))}`)
  return lines.join(' \\\n  ')
}

/** A password is typed by whoever runs the command. */
function hidden(key: string, value: unknown): unknown {
  return key === 'password' && typeof value === 'string' ? '…' : value
}

/** What a CSV is asked for with. */
export const CSV = 'text/csv'

/** Streams the request's rows as CSV into a file of the browser. `told` hears how many bytes have come. */
export async function download(
  asked: Ask<unknown>,
  name: string,
  told: (bytes: number) => void,
  signal: AbortSignal,
): Promise<void> {
  const answer = await open(asked, CSV, signal)
  let bytes = 0
  const counted = answer.body?.pipeThrough(
    new TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>>({
      transform(chunk, controller) {
        bytes += chunk.byteLength
        told(bytes)
        controller.enqueue(chunk)
      },
    }),
  )
  // The browser keeps a large blob on disk.
  save(await new Response(counted ?? '').blob(), name)
}

/** Gives the viewer a file. */
export function save(blob: Blob, name: string): void {
  const url = URL.createObjectURL(blob)
  const link = document.createElement('a')
  link.href = url
  link.download = name
  link.click()
  setTimeout(() => URL.revokeObjectURL(url), 60_000)
}
