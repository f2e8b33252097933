/** What an operator may set of the edges of the service: browsers and proxies before it, live streams, and where traces go. */
import { row } from './row.ts'
import { listOf, network, numberBetween, origin, trueOrFalse, url, wholeNumber } from './values.ts'

export const edges = {
  corsOrigins: row(
    'DROVER_CORS_ORIGINS',
    null,
    listOf(origin),
    'Origins such as `https://console.example.com` whose pages may call from a browser; `*` for any, none when unset.',
  ),
  trustedProxies: row(
    'DROVER_TRUSTED_PROXIES',
    null,
    listOf(network),
    'Addresses and networks (`10.0.0.0/8`) of proxies in front, whose `X-Forwarded-For` says where a request came from.',
  ),
  compression: row(
    'DROVER_COMPRESSION',
    'true',
    trueOrFalse,
    'Whether long answers are compressed for clients that take it; `false` where a proxy in front does so.',
  ),
  liveStreamsMax: row(
    'DROVER_LIVE_STREAMS_MAX',
    '1000',
    wholeNumber(0, 100_000),
    'Streams of live events that this process holds open at most.',
  ),
  liveStreamsPerOrganizationMax: row(
    'DROVER_LIVE_STREAMS_PER_ORGANIZATION_MAX',
    '100',
    wholeNumber(0, 100_000),
    'Of those, streams of one organization at most.',
  ),
  otlpUrl: row(
    'DROVER_OTLP_URL',
    null,
    url('http', 'https'),
    'Base address of a receiver of OpenTelemetry (OTLP/HTTP): traces go to `/v1/traces` under it; none are made when unset.',
  ),
  traceRatio: row(
    'DROVER_TRACE_RATIO',
    '1',
    numberBetween(0, 1),
    'Share of the requests that begin a trace; whether one that a client began is recorded, the client says.',
  ),
  traceOperationsMax: row(
    'DROVER_TRACE_OPERATIONS_MAX',
    '100',
    wholeNumber(0, 100_000),
    'Operations of a job that its trace shows, about; of a larger job some, always the same.',
  ),
} as const
