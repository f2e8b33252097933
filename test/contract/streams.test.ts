/** Answers read as they come. */
import { describe, expect, test } from 'vitest'
import { serverEvents, textOf } from '../../src/contract/client/streams.ts'

function answerOf(...pieces: (string | Uint8Array)[]): Response {
  const encoder = new TextEncoder()
  return new Response(
    new ReadableStream({
      start(controller) {
        for (const piece of pieces) controller.enqueue(typeof piece === 'string' ? encoder.encode(piece) : piece)
        controller.close()
      },
    }),
  )
}

async function eventsOf(...pieces: string[]) {
  const events = []
  for await (const event of serverEvents(answerOf(...pieces))) events.push(event)
  return events
}

describe('server-sent events', () => {
  test('an event is its name, its data and the id to go on from', async () => {
    expect(await eventsOf('event: job\nid: 7\ndata: {"a":1}\n\ndata: plain\n\n')).toEqual([
      { event: 'job', data: '{"a":1}', id: '7' },
      { event: 'message', data: 'plain', id: '7' },
    ])
  })

  test('comments and events without data are left out, and lines of data stay lines', async () => {
    expect(await eventsOf(': still here\n\nevent: empty\n\ndata: one\ndata: two\n\n')).toEqual([
      { event: 'message', data: 'one\ntwo', id: undefined },
    ])
  })

  test('it does not matter where the pieces of the stream end, or how its lines do', async () => {
    const text = 'event: a\r\ndata: 1\r\n\r\nevent: b\r\ndata: 2\r\n\r\n'
    const whole = await eventsOf(text)
    expect(whole.map(({ event }) => event)).toEqual(['a', 'b'])
    expect(await eventsOf(...text)).toEqual(whole)
  })

  test('an event that was cut off is none', async () => {
    expect(await eventsOf('data: 1\n\ndata: 2\n')).toHaveLength(1)
  })
})

test('a character that two pieces share is read whole', async () => {
  const [first, second] = [new Uint8Array([0xe2, 0x82]), new Uint8Array([0xac])]
  let text = ''
  for await (const piece of textOf(answerOf(first, second))) text += piece
  expect(text).toBe('€')
})
