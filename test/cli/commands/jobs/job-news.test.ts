/** When a follower of a job looks again. */
import { expect, onTestFinished, test } from 'vitest'
import { watchJobNews } from '../../../../src/cli/commands/jobs/job-news.ts'
import { type Client, Refused } from '../../../../src/contract/client/client.ts'

const NEVER_MS = 600_000

/** A client whose streams are what the test writes into them. */
function streaming(open: () => Promise<Response>): Client {
  return { url: '', open, call: () => Promise.reject(new Error('not asked')) }
}

function stream() {
  let controller: ReadableStreamDefaultController<Uint8Array>
  const body = new ReadableStream<Uint8Array>({
    start(made) {
      controller = made
    },
  })
  return {
    response: new Response(body),
    write: (text: string) => controller.enqueue(new TextEncoder().encode(text)),
    end: () => controller.close(),
  }
}

test('an event of the job is news at once', async () => {
  const events = stream()
  const news = watchJobNews(
    streaming(async () => events.response),
    'j',
    { liveMs: NEVER_MS, pollMs: NEVER_MS },
  )
  onTestFinished(news.close)
  events.write('event: seconds\ndata: {}\n\n')
  let isNews = false
  const next = news.next().then(() => {
    isNews = true
  })
  await new Promise(resolve => setImmediate(resolve))
  expect(isNews).toBe(false)
  events.write('event: job\nid: 1\ndata: {}\n\n')
  await next
})

test('a stream that ends is a reason to look', async () => {
  const events = stream()
  const news = watchJobNews(
    streaming(async () => events.response),
    'j',
    { liveMs: NEVER_MS, pollMs: NEVER_MS },
  )
  onTestFinished(news.close)
  events.end()
  await news.next()
})

test('without a stream there is a look after every pause', async () => {
  let asked = 0
  const open = async () => {
    asked += 1
    throw new Refused(new Response(null, { status: 404 }), undefined)
  }
  const news = watchJobNews(streaming(open), 'j', { liveMs: NEVER_MS, pollMs: 1 })
  onTestFinished(news.close)
  for (let look = 0; look < 5; look += 1) await news.next()
  expect(asked).toBe(1)
})

test('once it is closed, nobody waits', async () => {
  const events = stream()
  const news = watchJobNews(
    streaming(async () => events.response),
    'j',
    { liveMs: NEVER_MS, pollMs: NEVER_MS },
  )
  const next = news.next()
  news.close()
  await next
})
