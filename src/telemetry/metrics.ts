/**
 * What the service counts of itself, as Prometheus reads it. Labels name routes, events and parts, never a tenant, a device or a job.
 */
import Fastify, { type FastifyInstance } from 'fastify'
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import type { DeliveryChannel } from '../domain/delivery.ts'
import type { EngineObserver } from '../engine/observer.ts'
import type { Happening } from '../engine/operation-draft.ts'
import { SOUTH_REFUSALS, type SouthRefusal } from '../south/parts.ts'

export interface Metrics {
  readonly registry: Registry
  readonly observer: EngineObserver
  /** Counts every answer of a server, by route and status. */
  countRequests(server: FastifyInstance): void
  readonly countRefusal: (refusal: SouthRefusal) => void
  /** of a request by the operator's MQTT broker, with the number that MQTT has for its reason */
  readonly countBrokerRefusal: (reason: number) => void
  readonly countDelivery: (channel: DeliveryChannel, taken: boolean) => void
  /** Says where the number of connected devices is asked when it is read. */
  countConnected(connected: () => number): void
  countStreams(streams: () => number): void
}

/** Makes the counters of one service, all at zero. */
export function createMetrics(): Metrics {
  const registry = new Registry()
  const registers = [registry]
  collectDefaultMetrics({ register: registry })
  const requests = new Histogram({
    name: 'drover_http_request_duration_seconds',
    help: 'Answers to clients and devices, by route and status; how long each took.',
    labelNames: ['method', 'route', 'status'],
    buckets: [0.005, 0.02, 0.1, 0.5, 2, 5, 30],
    registers,
  })
  const refusals = new Counter({
    name: 'drover_device_refusals_total',
    help: 'What the device interface turned away, by reason.',
    labelNames: ['reason'],
    registers,
  })
  const brokerRefusals = new Counter({
    name: 'drover_broker_refusals_total',
    help: "Requests to devices that the operator's MQTT broker refused, by the number of its reason.",
    labelNames: ['reason'],
    registers,
  })
  const events = new Counter({
    name: 'drover_operation_events_total',
    help: 'What devices and senders said of operations, applied and committed, by event.',
    labelNames: ['event'],
    registers,
  })
  const batches = new Histogram({
    name: 'drover_gathered_batch_size',
    help: 'How many of these events one transaction applied.',
    buckets: [1, 5, 20, 50, 100, 200, 500],
    registers,
  })
  const runs = new Counter({
    name: 'drover_loop_runs_total',
    help: 'Runs of each loop of the engine, by how they ended.',
    labelNames: ['loop', 'result'],
    registers,
  })
  const deliveries = new Counter({
    name: 'drover_delivery_attempts_total',
    help: 'Attempts to deliver a notification, by channel and by whether it was taken.',
    labelNames: ['channel', 'result'],
    registers,
  })
  let streams = () => 0
  new Gauge({
    name: 'drover_live_streams',
    help: 'Streams of live events that this process holds open.',
    registers,
    collect() {
      this.set(streams())
    },
  })
  let connected = () => 0
  new Gauge({
    name: 'drover_connected_devices',
    help: 'Devices connected to this process over MQTT.',
    registers,
    collect() {
      this.set(connected())
    },
  })
  // A reason that has not happened yet reads 0, so that its first time is seen as a change.
  for (const reason of SOUTH_REFUSALS) refusals.inc({ reason }, 0)

  return {
    registry,
    observer: {
      ran: (loop, failed) => runs.inc({ loop, result: failed ? 'failed' : 'done' }),
      applied(happenings) {
        batches.observe(happenings.length)
        for (const happening of happenings) events.inc({ event: eventOf(happening) })
      },
    },
    countRequests(server) {
      server.addHook('onResponse', ({ method, routeOptions }, reply, done) => {
        // The address itself would bring ids into the labels, and no end of them.
        const route = (routeOptions.url ?? 'none').replace(/^\/v80\//, '/north/v80/')
        requests.observe({ method, route, status: reply.statusCode }, reply.elapsedTime / 1_000)
        done()
      })
    },
    countRefusal: reason => refusals.inc({ reason }),
    countBrokerRefusal: reason => brokerRefusals.inc({ reason: `0x${reason.toString(16)}` }),
    countDelivery: (channel, taken) => deliveries.inc({ channel, result: taken ? 'taken' : 'failed' }),
    countConnected(asked) {
      connected = asked
    },
    countStreams(asked) {
      streams = asked
    },
  }
}

/** A word of a device is an answer where it ends the operation; everything else has a name of its own. */
function eventOf({ seen, word }: Happening): string {
  return seen ?? (word?.resultCode === undefined ? 'heard' : 'answered')
}

/** Serves the counters at `/metrics`. */
export function serveMetrics(server: FastifyInstance, { registry }: Metrics): void {
  server.get('/metrics', { schema: { hide: true } }, async (_request, reply) =>
    reply.type(registry.contentType).send(await registry.metrics()),
  )
}

/** Serves the counters at an address of their own; the function it gives ends that. Fails where the port is taken. */
export async function openMetricsPort(
  metrics: Metrics,
  address: { readonly host: string; readonly port: number },
): Promise<{ readonly url: string; close(): Promise<void> }> {
  const server = Fastify({ forceCloseConnections: true })
  serveMetrics(server, metrics)
  const url = await server.listen(address)
  return { url, close: () => server.close() }
}
