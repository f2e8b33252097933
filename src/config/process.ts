/** What a process is: where it listens, which roles it has, where its data lies and what it logs. */
import { row } from './row.ts'
import { listOf, oneOf, type Parser, port, text, trueOrFalse, url, wholeNumber } from './values.ts'

/** What a process does of the whole: serve clients, serve devices, move the work. */
export const roles = ['north', 'south', 'engine'] as const
export type Role = (typeof roles)[number]

const roleList: Parser<readonly Role[]> = value => {
  const chosen = listOf(oneOf(...roles))(value)
  if (chosen.length === 0) throw new Error(`one or more of ${roles.join(', ')}, separated by commas`)
  return chosen
}

export const processVariables = {
  host: row('DROVER_HOST', '127.0.0.1', text, 'Address on which the service listens, for clients and devices.'),
  port: row('DROVER_PORT', '8080', port, 'Port of the HTTP interfaces; 0 takes a free one.'),
  metricsPort: row(
    'DROVER_METRICS_PORT',
    null,
    port,
    'Port on which `/metrics` is served alone, at the same host; beside the interfaces when unset. 0 takes a free one.',
  ),
  roles: row(
    'DROVER_ROLES',
    'north,south,engine',
    roleList,
    'What this process does: the client interface, the device interface, the work.',
  ),
  dataDir: row(
    'DROVER_DATA_DIR',
    './data',
    text,
    'Folder of the embedded database and of secrets made at the first start; one process holds it.',
  ),
  databaseUrl: row(
    'DATABASE_URL',
    null,
    url('postgres', 'postgresql'),
    'A PostgreSQL 15 or newer to use instead of the embedded one.',
    {
      secret: true,
    },
  ),
  databaseConnectionsMax: row(
    'DROVER_DATABASE_CONNECTIONS_MAX',
    '20',
    wholeNumber(4, 1_000),
    'Database connections of this process at most.',
  ),
  claimsByPartition: row(
    'DROVER_CLAIMS_BY_PARTITION',
    'false',
    trueOrFalse,
    'Whether a node claims operations of its own share of the partitions only, one at a time, as a database distributed by them needs it.',
  ),
  logLevel: row(
    'DROVER_LOG_LEVEL',
    'info',
    oneOf('fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'),
    'What is logged.',
  ),
} as const
