/** Where a span belongs, as it travels from process to process, and which are recorded. It makes no span. */
import { type Context, ROOT_CONTEXT, type Span, type SpanContext, TraceFlags, trace } from '@opentelemetry/api'
import { ParentBasedSampler, type Sampler, SamplingDecision, TraceIdRatioBasedSampler } from '@opentelemetry/sdk-trace'

const TRACEPARENT = /^[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/

/** What is linked to something recorded is recorded too; of the rest, a share of those that begin a trace. */
export function samplerOf(ratio: number): Sampler {
  const root = new TraceIdRatioBasedSampler(ratio)
  return new ParentBasedSampler({
    root: {
      shouldSample: (context, traceId, _name, _kind, _attributes, links) =>
        links.some(link => link.context.traceFlags & TraceFlags.SAMPLED)
          ? { decision: SamplingDecision.RECORD_AND_SAMPLED }
          : root.shouldSample(context, traceId),
      toString: () => `recorded links, else ${root.toString()}`,
    },
  })
}

export function traceparentOf(span: Span): string {
  const { traceId, spanId } = span.spanContext()
  return `00-${traceId}-${spanId}-01`
}

/** What a `traceparent` names; nothing where it is not well-formed. */
export function spanContextOf(traceparent: string): SpanContext | undefined {
  const [, traceId, spanId, flags] = TRACEPARENT.exec(traceparent) ?? []
  if (traceId === undefined || spanId === undefined || /^0+$/.test(traceId) || /^0+$/.test(spanId)) return undefined
  const traceFlags = Number.parseInt(flags!, 16) & 1 ? TraceFlags.SAMPLED : TraceFlags.NONE
  return { traceId, spanId, traceFlags, isRemote: true }
}

/** The context that a `traceparent` names; none where it is not well-formed. */
export function contextOf(traceparent: string): Context {
  const named = spanContextOf(traceparent)
  return named ? trace.setSpanContext(ROOT_CONTEXT, named) : ROOT_CONTEXT
}
