/**
 * The routes of live events: of a job, and of an organization. They say who watches what, and how it reads on the wire.
 */
import type { FastifyInstance } from 'fastify'
import './request-caller.ts'
import { Type } from 'typebox'
import {
  type JobEvent,
  JobEventsQuery,
  type OperationEvent,
  OrganizationEventsQuery,
  type SecondsEvent,
  WATCHED_SIZE_DEFAULT,
} from '../contract/live-events.ts'
import { DroverError } from '../domain/errors.ts'
import { jobId, operationId } from '../domain/identity.ts'
import { dateText } from '../domain/job-report.ts'
import type { LiveEvent, LiveEvents } from '../engine/live-events.ts'
import { type LiveOperations, WATCHED_DEPTH_MAX } from '../engine/live-operations.ts'
import type { Database } from '../store/database.ts'
import type { JobChange, SecondCount } from '../store/job-changes.ts'
import type { OperationReading } from '../store/operation-reading.ts'
import type { EventStream, EventStreams } from './event-streams.ts'
import { requestedJob } from './jobs.ts'

export interface LiveEventRoutesParts {
  readonly database: Database
  readonly liveEvents: LiveEvents
  readonly liveOperations: LiveOperations
  readonly eventStreams: EventStreams
}

const response = {
  200: {
    description: 'Server-sent events `seconds`, `job` and `operation`, without end',
    content: { 'text/event-stream': { schema: Type.String() } },
  },
}
const headers = Type.Object({
  'last-event-id': Type.Optional(
    Type.String({
      maxLength: 200,
      description: 'The id of the last event of a stream that broke off: it is gone on from',
    }),
  ),
})

/** Registers the routes of live events, under whatever prefix the instance has. */
export function liveEventRoutes(app: FastifyInstance, parts: LiveEventRoutesParts): void {
  const { database, liveEvents, liveOperations, eventStreams } = parts
  app.get(
    '/operation/jobs/:jobId/events',
    {
      exposeHeadRoute: false,
      schema: {
        tags: ['jobs'],
        summary: 'Follow a job: its changes, and those of a page of its operations, as server-sent events',
        params: Type.Object({ jobId: Type.String() }),
        querystring: JobEventsQuery,
        headers,
        response,
      },
    },
    async (request, reply) => {
      const { job, organization } = await requestedJob(database, request)
      const { operations, start = 1, size = WATCHED_SIZE_DEFAULT } = request.query as JobEventsQuery
      if (start * size > WATCHED_DEPTH_MAX) {
        const message = `Invalid field: start times size is at most ${WATCHED_DEPTH_MAX}.`
        throw new DroverError('invalidField', [{ name: 'start' }], message)
      }
      const stream = eventStreams.open(request, reply)
      const tell = (event: LiveEvent) => send(stream, event)
      return await follow(stream, async () => {
        const watch = await liveEvents.watchJob({ organization, job, cursor: lastEventId(request.headers), tell })
        if (!watch) throw new DroverError('unknown', [{ name: 'jobId' }])
        stream.whenOver(watch)
        if (operations === false) return
        stream.whenOver(liveOperations.watchPage({ job, start, size }, operation => sendOperation(stream, operation)))
      })
    },
  )

  for (const path of ['/operation/events', '/operation/organizations/:organization/events']) {
    const named = path.includes(':')
    app.get(
      path,
      {
        exposeHeadRoute: false,
        schema: {
          tags: ['jobs'],
          summary: `Follow all jobs of ${named ? 'an' : "the caller's"} organization as server-sent events`,
          ...(named && { params: Type.Object({ organization: Type.String() }) }),
          querystring: OrganizationEventsQuery,
          headers,
          response,
        },
      },
      async (request, reply) => {
        const { organization } = request.caller
        const { operations } = request.query as OrganizationEventsQuery
        const stream = eventStreams.open(request, reply)
        const tell = (event: LiveEvent) => send(stream, event)
        return await follow(stream, async () => {
          stream.whenOver(
            await liveEvents.watchOrganization({ organization, cursor: lastEventId(request.headers), tell }),
          )
          if (operations === false) return
          stream.whenOver(liveOperations.watchEnded(organization, operation => sendOperation(stream, operation)))
        })
      },
    )
  }
}

/** Answers with the stream once it watches; what cannot be watched is refused as any request is. */
async function follow(stream: EventStream, watch: () => Promise<void>) {
  try {
    await watch()
  } catch (error) {
    stream.end()
    throw error
  }
  return stream.answer()
}

function lastEventId(headers: NodeJS.Dict<string | string[]>): string | undefined {
  const id = headers['last-event-id']
  return typeof id === 'string' && id !== '' ? id : undefined
}

function send(stream: EventStream, event: LiveEvent): void {
  if (event.kind === 'job') stream.send('job', textOf(event.change, jobEvent), event.cursor)
  else stream.send('seconds', textOf(event.seconds, secondsEvent))
}

function sendOperation(stream: EventStream, operation: OperationReading): void {
  stream.send('operation', textOf(operation, operationEvent))
}

const texts = new WeakMap<object, string>()

/** The same thing is told to many: it is written once. */
function textOf<T extends object>(told: T, view: (told: T) => object): string {
  const known = texts.get(told)
  if (known !== undefined) return known
  const text = JSON.stringify(view(told))
  texts.set(told, text)
  return text
}

function jobEvent({ job, name, revision, changedAt, ended, successful, summary }: JobChange): JobEvent {
  return {
    jobId: jobId(job),
    name,
    revision: Number(revision),
    at: changedAt.toISOString(),
    ended,
    successful,
    summary,
  }
}

function secondsEvent(seconds: readonly SecondCount[]): SecondsEvent {
  return { seconds: seconds.map(({ at, ...counts }) => ({ at: at.toISOString(), ...counts })) }
}

function operationEvent(operation: OperationReading): OperationEvent {
  return {
    operationId: operationId(operation),
    jobId: jobId(operation.job),
    entityId: operation.identifier,
    resourceType: operation.resourceType,
    attempts: { current: operation.attempt },
    execution: { startedDate: dateText(operation.startedAt), finishedDate: dateText(operation.endedAt) },
    status: operation.status,
    result: operation.result ?? 'OPERATION_PENDING',
    description: operation.description ?? '',
    steps: [...(operation.steps ?? [])],
  }
}
