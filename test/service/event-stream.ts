/** A reader of server-sent events as an application writes it: it notes every event, and can be broken off. */
import { notes } from '../south/parts.ts'

export interface SeenEvent {
  readonly event: string
  readonly id?: string
  readonly data: Record<string, never> & { [name: string]: unknown }
}

export interface EventReader {
  readonly status: number
  readonly headers: Headers
  readonly events: SeenEvent[]
  /** the id to go on from */
  lastId(): string | undefined
  /** resolves with the first event that fits, from now or before */
  until(fits: (event: SeenEvent) => boolean): Promise<SeenEvent>
  /** resolves once the service has ended the stream, or it is broken off */
  readonly ended: Promise<void>
  breakOff(): void
}

/** Opens a stream. `headers` carry the credentials. */
export async function readEvents(url: string, headers: Record<string, string>): Promise<EventReader> {
  const stopping = new AbortController()
  const response = await fetch(url, {
    headers: { accept: 'text/event-stream', ...headers },
    signal: stopping.signal,
  })
  const seen = notes<SeenEvent>()
  const isStream = response.headers.get('content-type')?.startsWith('text/event-stream') ?? false
  const ended = isStream ? take(response, seen.add).catch(() => {}) : Promise.resolve()
  return {
    status: response.status,
    headers: response.headers,
    events: seen.all,
    lastId: () => seen.all.findLast(({ id }) => id !== undefined)?.id,
    until: async fits => (await seen.until(1, fits))[0]!,
    ended,
    breakOff: () => stopping.abort(),
  }
}

async function take(response: Response, add: (event: SeenEvent) => void): Promise<void> {
  let text = ''
  for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) {
    text += chunk
    const blocks = text.split('\n\n')
    text = blocks.pop()!
    for (const block of blocks) {
      const fields = new Map(
        block.split('\n').map(line => {
          const at = line.indexOf(':')
          return [line.slice(0, at), line.slice(at + 1).trim()] as const
        }),
      )
      const data = fields.get('data')
      if (data === undefined) continue
      const id = fields.get('id')
      add({ event: fields.get('event') ?? 'message', ...(id !== undefined && { id }), data: JSON.parse(data) })
    }
  }
}
