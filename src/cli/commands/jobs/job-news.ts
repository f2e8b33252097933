/**
 * Tells when a job may stand otherwise: at once where live events come, after a pause where they do not. It says nothing of how the job
 * stands; that is read from the job, so that no lost event leads astray.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { type Client, Refused } from '../../../contract/client/client.ts'
import { serverEvents } from '../../../contract/client/streams.ts'

export interface JobNews {
  /** Resolves when there may be news; never later than after a pause. */
  next(): Promise<void>
  close(): void
}

export interface JobNewsOptions {
  /** the pause while events come, which only an event that was lost makes matter */
  readonly liveMs?: number
  /** the pause while none do */
  readonly pollMs?: number
}

/** When a stream that broke off is opened again. */
const RECONNECT_MS = 2_000

/** Listens for news of a job until it is closed. */
export function watchJobNews(
  client: Client,
  jobId: string,
  { liveMs = 10_000, pollMs = 1_000 }: JobNewsOptions = {},
): JobNews {
  const end = new AbortController()
  const { signal } = end
  let isLive = false
  let isNew = false
  let wake = () => {}

  function tell(): void {
    isNew = true
    wake()
  }

  /** One stream to its end; answers whether another is worth a try. */
  async function listen(): Promise<boolean> {
    try {
      const given = { path: { jobId }, query: { operations: false }, signal }
      const events = await client.open('GET /operation/jobs/{jobId}/events', 'text/event-stream', given)
      isLive = true
      for await (const { event } of serverEvents(events)) if (event === 'job') tell()
      return true
    } catch (error) {
      // Too many streams pass; a service without them never will.
      return !(error instanceof Refused) || error.status === 429 || error.status >= 500
    } finally {
      isLive = false
      tell()
    }
  }

  async function listenOn(): Promise<void> {
    while (!signal.aborted && (await listen()))
      await sleep(RECONNECT_MS, undefined, { signal, ref: false }).catch(() => {})
  }
  void listenOn()

  return {
    async next() {
      if (!isNew) {
        await new Promise<void>(resolve => {
          const timer = setTimeout(resolve, isLive ? liveMs : pollMs)
          wake = () => {
            clearTimeout(timer)
            resolve()
          }
        })
      }
      isNew = false
    },
    close() {
      end.abort()
      wake()
    },
  }
}
