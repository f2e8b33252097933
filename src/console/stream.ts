/**
 * The live events of the organization: one stream for all views of a tab, gone on with after a break. It changes what is known of jobs in
 * place and has asked anew what depends on them; views only say what they show.
 */
import type { QueryClient } from '@tanstack/react-query'
import { useEffect, useMemo, useSyncExternalStore } from 'react'
import type { JobView } from '../contract/client/client.ts'
import { asking, open, Refused } from './request.ts'

/** What an event tells of a job. */
interface JobEvent {
  readonly jobId: string
  readonly at: string
  readonly ended: number
  readonly successful: number
  readonly summary: JobView['report']['summary']
}

interface SecondsEvent {
  readonly seconds: readonly { readonly at: string; readonly ended: number; readonly successful: number }[]
}

/** `denied`: the service is there, and gives no stream. */
export type StreamState = 'off' | 'opening' | 'live' | 'broken' | 'denied'

/** Nothing for so long, not even a sign of life, and the stream is taken for broken. */
const SILENT_MS = 25_000
const AGAIN_MS = 2_000
const AGAIN_MS_MAX = 15_000
/** What depends on jobs is asked anew at most so often. */
const ASK_ANEW_MS = 1_500

let state: StreamState = 'off'
const followers = new Set<() => void>()

function become(next: StreamState): void {
  if (next === state) return
  state = next
  for (const each of followers) each()
}

/** Whether the figures shown are kept up to date by the stream. */
export function useStreamState(): StreamState {
  return useSyncExternalStore(
    follower => {
      followers.add(follower)
      return () => followers.delete(follower)
    },
    () => state,
  )
}

/** Keeps the stream open while somebody is signed in and the tab is looked at. */
export function useStream(queries: QueryClient, token: string | undefined): void {
  useEffect(() => {
    if (token === undefined) return
    let stop = new AbortController()
    const apply = applying(queries)
    const follow = () => {
      stop.abort()
      stop = new AbortController()
      if (!navigator.onLine) become('broken')
      else if (!document.hidden) void keepOpen(apply, stop.signal)
    }
    follow()
    document.addEventListener('visibilitychange', follow)
    for (const change of ['online', 'offline']) addEventListener(change, follow)
    return () => {
      document.removeEventListener('visibilitychange', follow)
      for (const change of ['online', 'offline']) removeEventListener(change, follow)
      stop.abort()
      become('off')
      // Whoever signs in next may be of another organization: it sees nothing that this one saw, and goes on with no stream of theirs.
      queries.clear()
      lastId = undefined
      bySecond.clear()
    }
  }, [queries, token])
}

interface Apply {
  event(name: string, data: unknown): void
  /** the stream stands again after a break */
  caughtUp(): void
}

let lastId: string | undefined

async function keepOpen(apply: Apply, stop: AbortSignal): Promise<void> {
  let pauseMs = AGAIN_MS
  for (let isFirst = true; !stop.aborted; isFirst = false) {
    if (isFirst) become('opening')
    let isDenied = false
    const cut = new AbortController()
    const signal = AbortSignal.any([stop, cut.signal])
    let silence = setTimeout(() => cut.abort(), SILENT_MS)
    const heard = () => {
      clearTimeout(silence)
      silence = setTimeout(() => cut.abort(), SILENT_MS)
    }
    try {
      const header = lastId === undefined ? {} : { 'last-event-id': lastId }
      const asked = asking('GET /operation/events', { query: { operations: false }, header })
      const answer = await open(asked, 'text/event-stream', signal)
      // The network may have gone between the answer and here.
      if (stop.aborted) return
      become('live')
      if (!isFirst || lastId !== undefined) apply.caughtUp()
      pauseMs = AGAIN_MS
      if (answer.body) await readEvents(answer.body, apply, heard)
    } catch (error) {
      if (error instanceof Refused && error.status === 400) lastId = undefined
      isDenied = error instanceof Refused && error.status < 500
      pauseMs = Math.min(pauseMs * 1.5, AGAIN_MS_MAX)
    } finally {
      clearTimeout(silence)
    }
    if (stop.aborted) return
    become(isDenied ? 'denied' : 'broken')
    await new Promise(resolve => setTimeout(resolve, pauseMs))
  }
}

async function readEvents(
  body: ReadableStream<Uint8Array<ArrayBuffer>>,
  apply: Apply,
  heard: () => void,
): Promise<void> {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader()
  let text = ''
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return
    heard()
    text += value
    const parts = text.split('\n\n')
    text = parts.pop() ?? ''
    for (const part of parts) readEvent(part, apply)
  }
}

function readEvent(part: string, apply: Apply): void {
  let name = 'message'
  let data = ''
  for (const line of part.split('\n')) {
    const [, field, value = ''] = /^(\w+): ?(.*)$/.exec(line) ?? []
    if (field === 'event') name = value
    if (field === 'data') data += value
    if (field === 'id') lastId = value
  }
  if (data !== '') apply.event(name, JSON.parse(data))
}

/** What the events do to what is known. */
function applying(queries: QueryClient): Apply {
  const waiting = new Map<string, readonly unknown[]>()
  let isWaiting = false
  const askAnew = (key: readonly unknown[]) => {
    waiting.set(JSON.stringify(key), key)
    if (isWaiting) return
    isWaiting = true
    setTimeout(() => {
      isWaiting = false
      for (const queryKey of waiting.values()) void queries.invalidateQueries({ queryKey })
      waiting.clear()
    }, ASK_ANEW_MS)
  }
  return {
    caughtUp: () => void queries.invalidateQueries(),
    event(name, data) {
      if (name === 'seconds') {
        for (const each of (data as SecondsEvent).seconds) countSecond(each, true)
      }
      if (name !== 'job') return
      const event = data as JobEvent
      countSecond(event, false)
      const { known, ended } = changeJobs(queries, event)
      if (!known) askAnew(['jobs', 'list'])
      if (ended) askAnew(['jobs'])
      else askAnew(['jobs', 'operations', event.jobId])
      if (!known) askAnew(['jobs', 'POST /search/jobs'])
    },
  }
}

/** Gives every copy of the job the summary of the event; says whether there was one, and whether its status is another now. */
function changeJobs(queries: QueryClient, { jobId, summary }: JobEvent): { known: boolean; ended: boolean } {
  const found = { known: false, ended: false }
  const change = (job: JobView): JobView => {
    if (job.id !== jobId) return job
    found.known = true
    found.ended ||= job.report.summary.status !== summary.status
    return { ...job, report: { ...job.report, summary } }
  }
  queries.setQueriesData({ queryKey: ['jobs'] }, (data: unknown) => changed(data, jobId, change))
  return found
}

interface Holding {
  readonly id?: unknown
  readonly report?: unknown
  readonly jobs?: readonly JobView[]
  readonly rows?: readonly JobView[]
}

const isJob = (row: unknown): row is JobView =>
  typeof row === 'object' && row !== null && 'report' in row && 'request' in row

/** The data with the job changed; `undefined` where it does not hold the job, which is then neither newer nor asked for later. */
function changed(data: unknown, jobId: string, change: (job: JobView) => JobView): unknown {
  if (typeof data !== 'object' || data === null) return undefined
  if (isJob(data)) return data.id === jobId ? change(data) : undefined
  const { jobs, rows } = data as Holding
  if (jobs?.some(job => job.id === jobId)) return { ...data, jobs: jobs.map(change) }
  if (rows?.some(row => isJob(row) && row.id === jobId)) return { ...data, rows: rows.map(change) }
  return undefined
}

const SECONDS = 600
const bySecond = new Map<number, { ended: number; successful: number }>()

/** A second as a whole, or something more that ended in it. */
function countSecond(
  { at, ended, successful }: { at: string; ended: number; successful: number },
  isWhole: boolean,
): void {
  const second = Math.floor(Date.parse(at) / 1000)
  const before = (isWhole ? undefined : bySecond.get(second)) ?? { ended: 0, successful: 0 }
  bySecond.set(second, { ended: before.ended + ended, successful: before.successful + successful })
  if (bySecond.size > SECONDS * 2)
    for (const each of bySecond.keys()) if (each < second - SECONDS) bySecond.delete(each)
}

/** What ended in the seconds of the last ten minutes up to `now`, in steps of five seconds, per second. */
export function useSeconds(now: number) {
  const present = Math.floor(now / 1_000)
  // Counted anew every second, since events come at any time.
  return useMemo(() => {
    const last = Math.floor(present / 5) * 5
    const at: number[] = []
    const ended: number[] = []
    const successful: number[] = []
    const sum = (from: number, to: number, name: 'ended' | 'successful') => {
      let total = 0
      for (let second = from; second < to; second++) total += bySecond.get(second)?.[name] ?? 0
      return total / (to - from)
    }
    for (let from = last - SECONDS; from < last; from += 5) {
      at.push(from * 1000)
      ended.push(sum(from, from + 5, 'ended'))
      successful.push(sum(from, from + 5, 'successful'))
    }
    return { at, ended, successful, lately: sum(present - 10, present, 'ended') }
  }, [present])
}
