/** Answers that come as streams, read as they come: text, and server-sent events. A break is the caller's to mend. */

/** The text of an answer, in the pieces in which it comes. Whoever stops reading ends the answer. */
export async function* textOf(response: Response): AsyncGenerator<string> {
  const reader = response.body?.getReader()
  if (!reader) return
  const decoder = new TextDecoder()
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return
      yield decoder.decode(value, { stream: true })
    }
  } finally {
    await reader.cancel().catch(() => undefined)
  }
}

/** One event. The id is that of the last event that had one: what a stream that broke off is gone on from. */
export interface ServerEvent {
  readonly event: string
  readonly data: string
  readonly id: string | undefined
}

/** Characters of one event. */
const EVENT_LENGTH_MAX = 10_000_000

/** The events of an answer of type `text/event-stream`, as the HTML standard reads them. Comments, such as a heartbeat, are left out. */
export async function* serverEvents(response: Response): AsyncGenerator<ServerEvent> {
  let rest = ''
  let event = ''
  let data: string[] = []
  let id: string | undefined
  for await (const text of textOf(response)) {
    rest += text
    if (rest.length > EVENT_LENGTH_MAX) throw new RangeError('an event is longer than any should be')
    // A carriage return at the end may be half of a line's end.
    const lines = rest.split(/\r\n|\n|\r(?!$)/)
    rest = lines.pop() ?? ''
    for (const line of lines) {
      if (line === '') {
        if (data.length > 0) yield { event: event || 'message', data: data.join('\n'), id }
        event = ''
        data = []
        continue
      }
      const [, field, value = ''] = /^([^:]*)(?:: ?(.*))?$/s.exec(line) ?? []
      if (field === 'event') event = value
      else if (field === 'data') data.push(value)
      else if (field === 'id' && !value.includes('\0')) id = value
    }
  }
}
