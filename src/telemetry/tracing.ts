/**
 * Traces for OpenTelemetry: a client's request, and what becomes of it: how its operations are launched and sent, what their devices
 * answer, and what its receivers are told, on whichever nodes. The context lies with the job. It wraps the parts of the house, which know
 * nothing of it; where no receiver is configured there is none of it.
 */
import {
  type Attributes,
  type Context,
  DiagLogLevel,
  diag,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http'
import { resourceFromAttributes } from '@opentelemetry/resources'
import { BatchSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Logger } from 'pino'
import about from '../../package.json' with { type: 'json' }
import type { DeliveryChannel, DeliveryOutcome } from '../domain/delivery.ts'
import { jobId, type OperationKey, operationId, parseOperationId } from '../domain/identity.ts'
import { isTraced } from '../domain/trace-choice.ts'
import type { Connector, DeliveryMessage, OperationRequest, SendDelivery, SendReport } from '../engine/connector.ts'
import type { JobNotices } from '../engine/job-settling.ts'
import '../north/request-caller.ts'
import type { SouthParts } from '../south/parts.ts'
import type { Database } from '../store/database.ts'
import type { JobTrace } from '../store/job-traces.ts'
import { contextOf, samplerOf, spanContextOf, traceparentOf } from './tracing-context.ts'
import { createSights, type Run, type Sight } from './tracing-sights.ts'

export interface TracingOptions {
  /** base address of the receiver */
  readonly url: string
  /** share of the requests that begin a trace of their own */
  readonly ratio: number
  /** operations of a job that are shown, about */
  readonly operationsMax: number
  readonly database: Database
  /** the clock by which operations are launched */
  readonly now: () => Date
  readonly log: Logger
  readonly node: number
}

export interface Tracing {
  /** Has every request of a client be a span, and gives those that are recorded their `trace`. */
  traceRequests(server: FastifyInstance): void
  /** The same connector, which shows what it sends. */
  connector(connector: Connector): Connector
  /** The same doors for devices, which show what is answered and handed out. */
  doors<Doors extends Pick<SouthParts, 'answers' | 'pending'>>(doors: Doors): Doors
  /** The same notices, which show that a task's run has made a job start. */
  notices(notices: JobNotices): JobNotices
  /** The same way out for notifications, which shows each attempt. */
  sender(channel: DeliveryChannel, send: SendDelivery): SendDelivery
  /** Sends what is left, and ends. */
  stop(): Promise<void>
}

const EXPORT_MS = 1_000

export function createTracing(options: TracingOptions): Tracing {
  const { database, now, log, operationsMax } = options
  const provider = new TracerProvider({
    resource: resourceFromAttributes({
      'service.name': 'drover',
      'service.version': about.version,
      'service.instance.id': String(options.node),
    }),
    sampler: samplerOf(options.ratio),
    spanProcessors: [
      new BatchSpanProcessor({
        exporter: new OTLPTraceExporter({ url: `${options.url.replace(/\/+$/, '')}/v1/traces` }),
        scheduledDelayMillis: EXPORT_MS,
      }),
    ],
  })
  const tracer = provider.getTracer('drover', about.version)
  const quiet = () => {}
  const warn = (message: string, ...more: unknown[]) => log.warn({ more }, `traces: ${message}`)
  diag.setLogger({ error: warn, warn, info: quiet, debug: quiet, verbose: quiet }, DiagLogLevel.WARN)

  const spans = new WeakMap<FastifyRequest, Span>()
  const sights = createSights(database, log, runOf)
  const see = (key: OperationKey, show: Sight['show']) =>
    sights.see({
      job: key.job,
      isShown: ({ places }) => isTraced(key.entity, places, operationsMax),
      show,
    })

  /** A task's run has a trace of its own: a task may run for years. */
  function runOf(job: JobTrace, taskTrace: string, startedAt: Date): Run {
    const span = tracer.startSpan(
      'task run',
      {
        root: true,
        startTime: job.startAt ?? startedAt,
        links: [{ context: spanContextOf(taskTrace)! }],
        attributes: { ...attributesOf(job), 'drover.task.id': job.taskId! },
      },
      ROOT_CONTEXT,
    )
    return { trace: traceparentOf(span), show: () => span.end(startedAt) }
  }

  /** A span that is over. */
  function record(name: string, kind: SpanKind, context: Context, span: Past): Span {
    const made = tracer.startSpan(name, { kind, startTime: span.from, attributes: span.attributes }, context)
    if (span.failure !== undefined) made.setStatus({ code: SpanStatusCode.ERROR, message: span.failure })
    made.end(Math.max(span.from, span.to))
    return made
  }

  function seeSent(flow: string, request: OperationRequest, from: number, report: SendReport): void {
    const to = now().getTime()
    const failure = 'description' in report ? report.description : report.seen === 'notSent' ? 'not sent' : undefined
    see(request.key, job => {
      const attributes = {
        ...attributesOfOperation(job, request.key),
        'drover.flow': flow,
        'drover.device': request.device.deviceId,
      }
      const context = contextOf(job.trace)
      const launch = record('operation launch', SpanKind.INTERNAL, context, {
        from: Math.min(request.launchedAt, from),
        to: from,
        attributes,
      })
      const kind = flow === 'mqtt' ? SpanKind.PRODUCER : SpanKind.CLIENT
      const sent = {
        from,
        to,
        attributes: { ...attributes, 'drover.seen': report.seen },
        ...(failure && { failure }),
      }
      record('operation send', kind, trace.setSpan(context, launch), sent)
    })
  }

  function seeAnswer(key: OperationKey, from: number, result: string | undefined): void {
    const to = now().getTime()
    see(key, job => {
      const attributes = { ...attributesOfOperation(job, key), 'drover.result': result ?? 'part' }
      record('operation answer', SpanKind.CONSUMER, contextOf(job.trace), { from, to, attributes })
    })
  }

  function seeDelivery(
    channel: DeliveryChannel,
    { id, job, event }: DeliveryMessage,
    outcome: DeliveryOutcome,
    from: number,
  ) {
    const to = now().getTime()
    sights.see({
      job,
      isShown: () => true,
      show(traced) {
        const attributes = {
          ...attributesOf(traced),
          'drover.delivery.id': id,
          'drover.delivery.channel': channel,
          'drover.delivery.event': event,
          ...(outcome.status !== undefined && { 'drover.delivery.status': outcome.status }),
        }
        const failure = outcome.taken ? undefined : outcome.error
        record('delivery', SpanKind.CLIENT, contextOf(traced.trace), {
          from,
          to,
          attributes,
          ...(failure && { failure }),
        })
      },
    })
  }

  return {
    traceRequests(server) {
      server.addHook('onRequest', async request => {
        const { method, headers, url, routeOptions } = request
        if (!/^\/(north\/)?v80\//.test(url)) return
        const route = routeOptions.url
        const { traceparent } = headers
        const span = tracer.startSpan(
          route === undefined ? method : `${method} ${route}`,
          {
            kind: SpanKind.SERVER,
            attributes: {
              'http.request.method': method,
              ...(route !== undefined && { 'http.route': route }),
              'drover.request.id': String(request.id),
            },
          },
          typeof traceparent === 'string' ? contextOf(traceparent) : ROOT_CONTEXT,
        )
        if (!span.isRecording()) return
        request.trace = traceparentOf(span)
        spans.set(request, span)
      })
      server.addHook('onResponse', async (request, reply) => {
        const span = spans.get(request)
        if (!span) return
        span.setAttribute('http.response.status_code', reply.statusCode)
        if (reply.statusCode >= 500) span.setStatus({ code: SpanStatusCode.ERROR })
        span.end()
      })
    },

    connector: ({ flow, send, ...connector }) => ({
      ...connector,
      flow,
      send(requests, report) {
        const handedAt = now().getTime()
        const sent = new Map<string, number>()
        send(requests, (request, each) => {
          const before = sent.get(request.id)
          sent.set(request.id, now().getTime())
          if (before === undefined) seeSent(flow, request, handedAt, each)
          if (each.seen === 'answered') seeAnswer(request.key, before ?? handedAt, each.message.resultCode)
          report(request, each)
        })
      },
    }),

    doors: doors => ({
      ...doors,
      answers: {
        async submit(message) {
          const from = now().getTime()
          const outcome = await doors.answers.submit(message)
          const key = outcome === 'taken' ? parseOperationId(message.operationId) : undefined
          if (key) seeAnswer(key, from, message.resultCode)
          return outcome
        },
      },
      pending: {
        async take(device, waitMs, signal) {
          const request = await doors.pending.take(device, waitMs, signal)
          if (request) seeSent('pull', request, now().getTime(), { seen: 'sent' })
          return request
        },
      },
    }),

    notices: ({ started, finished }) => ({
      finished,
      async started(tx, jobs, at) {
        await started(tx, jobs, at)
        for (const { job, task } of jobs) if (task !== null) sights.see({ job, isShown: () => true, show() {} })
      },
    }),

    sender: (channel, send) => async (message, signal) => {
      const from = now().getTime()
      const outcome = await send(message, signal)
      seeDelivery(channel, message, outcome, from)
      return outcome
    },

    async stop() {
      await sights.settle()
      await provider.shutdown().catch((error: unknown) => log.warn({ err: error }, 'some traces were not sent'))
    },
  }
}

interface Past {
  /** epoch ms */
  readonly from: number
  readonly to: number
  readonly attributes: Attributes
  readonly failure?: string
}

function attributesOf({ job, name }: JobTrace): Attributes {
  return { 'drover.job.id': jobId(job), 'drover.operation.name': name }
}

function attributesOfOperation(job: JobTrace, key: OperationKey): Attributes {
  return { ...attributesOf(job), 'drover.operation.id': operationId(key) }
}
