/**
 * Traces for OpenTelemetry: a client's request, and what becomes of it: how its operations are launched and sent, and what their
 * devices answer, on whichever nodes. The context lies with the job. It wraps the parts of the house, which know nothing of it; where
 * no receiver is configured there is none of it.
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
  TraceFlags,
  trace,
} from '@opentelemetry/api'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http'
import { resourceFromAttributes } from '@opentelemetry/resources'
import {
  BatchSpanProcessor,
  ParentBasedSampler,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Logger } from 'pino'
import about from '../package.json' with { type: 'json' }
import { jobId, type OperationKey, operationId, parseOperationId } from './domain/identity.ts'
import { isTraced } from './domain/trace-choice.ts'
import type { Connector, OperationRequest, SendReport } from './engine/connector.ts'
import './north/request-caller.ts'
import type { SouthParts } from './south/parts.ts'
import type { Database } from './store/database.ts'
import { type JobTrace, readJobTraces } from './store/job-traces.ts'

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
  /** Sends what is left, and ends. */
  stop(): Promise<void>
}

/** Something seen of an operation, to be shown once it is known whether its job is traced. */
interface Sight {
  readonly key: OperationKey
  show(context: Context, job: JobTrace): void
}

/** Sights wait for so long at most, and so many of them: beyond, they are not shown. */
const GATHER_MS = 200
const WAITING_MAX = 10_000
const JOBS_REMEMBERED = 10_000
const EXPORT_MS = 1_000
const TRACEPARENT = /^[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/

export function createTracing(options: TracingOptions): Tracing {
  const { database, now, log, operationsMax } = options
  const provider = new TracerProvider({
    resource: resourceFromAttributes({
      'service.name': 'drover',
      'service.version': about.version,
      'service.instance.id': String(options.node),
    }),
    sampler: new ParentBasedSampler({ root: new TraceIdRatioBasedSampler(options.ratio) }),
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
  const jobs = new Map<bigint, JobTrace>()
  let waiting: Sight[] = []
  let timer: NodeJS.Timeout | null = null
  let gathering = Promise.resolve()

  function see(sight: Sight): void {
    const known = jobs.get(sight.key.job)
    if ((known && !isShown(known, sight.key)) || waiting.length >= WAITING_MAX) return
    waiting.push(sight)
    timer ??= setTimeout(gather, GATHER_MS).unref()
  }

  function isShown({ trace, places }: JobTrace, { entity }: OperationKey): boolean {
    return trace !== null && isTraced(entity, places, operationsMax)
  }

  function gather(): void {
    if (timer) clearTimeout(timer)
    timer = null
    const sights = waiting
    waiting = []
    gathering = gathering
      .then(() => show(sights))
      .catch((error: unknown) => log.warn({ err: error }, 'some operations are not in their trace'))
  }

  async function show(sights: readonly Sight[]): Promise<void> {
    const unknown = [...new Set(sights.map(({ key }) => key.job))].filter(job => !jobs.has(job))
    for (const job of await readJobTraces(database, unknown)) {
      if (jobs.size >= JOBS_REMEMBERED) jobs.delete(jobs.keys().next().value!)
      jobs.set(job.job, job)
    }
    for (const { key, show } of sights) {
      const job = jobs.get(key.job)
      if (job && isShown(job, key)) show(contextOf(job.trace!), job)
    }
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
    see({
      key: request.key,
      show(context, job) {
        const attributes = attributesOf(request.key, job, {
          'drover.flow': flow,
          'drover.device': request.device.deviceId,
        })
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
      },
    })
  }

  function seeAnswer(key: OperationKey, from: number, result: string | undefined): void {
    const to = now().getTime()
    see({
      key,
      show: (context, job) =>
        void record('operation answer', SpanKind.CONSUMER, context, {
          from,
          to,
          attributes: attributesOf(key, job, { 'drover.result': result ?? 'part' }),
        }),
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
        const { traceId, spanId } = span.spanContext()
        request.trace = `00-${traceId}-${spanId}-01`
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

    connector: ({ flow, capacity, send, stop }) => ({
      flow,
      capacity,
      stop,
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

    async stop() {
      gather()
      await gathering
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

function attributesOf(key: OperationKey, { name }: JobTrace, more: Attributes): Attributes {
  return {
    'drover.job.id': jobId(key.job),
    'drover.operation.id': operationId(key),
    'drover.operation.name': name,
    ...more,
  }
}

/** The context that a `traceparent` names; none where it is not well-formed. */
function contextOf(traceparent: string): Context {
  const [, traceId, spanId, flags] = TRACEPARENT.exec(traceparent) ?? []
  if (traceId === undefined || spanId === undefined || /^0+$/.test(traceId) || /^0+$/.test(spanId)) return ROOT_CONTEXT
  const traceFlags = Number.parseInt(flags!, 16) & 1 ? TraceFlags.SAMPLED : TraceFlags.NONE
  return trace.setSpanContext(ROOT_CONTEXT, { traceId, spanId, traceFlags, isRemote: true })
}
