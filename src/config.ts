/**
 * What an operator may set, each by one environment variable and one row of the table below, from which the reference in
 * `docs/reference/configuration.md` is printed too. It reads and judges; it opens nothing and knows no part of the service.
 */

import { edges } from './config-edges.ts'
import { row, type Variable } from './config-row.ts'
import {
  deviceUrlTemplate,
  email,
  engineId,
  listOf,
  longestMs,
  objectIdentifier,
  oneOf,
  type Parser,
  pathSegment,
  port,
  text,
  textOfAtLeast,
  trueOrFalse,
  url,
  wholeNumber,
} from './config-values.ts'
import { isRefusable } from './connectors/address-guard.ts'

/** What a process does of the whole: serve clients, serve devices, move the work. */
export const roles = ['north', 'south', 'engine'] as const
export type Role = (typeof roles)[number]

const roleList: Parser<readonly Role[]> = value => {
  const chosen = listOf(oneOf(...roles))(value)
  if (chosen.length === 0) throw new Error(`one or more of ${roles.join(', ')}, separated by commas`)
  return chosen
}

const hostOrNetwork: Parser<string> = value => {
  if (!isRefusable(value)) {
    throw new Error(`host names, addresses and networks such as 10.1.0.0/16, of which "${value}" is none`)
  }
  return value
}

const variables = {
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
  mqttPort: row('DROVER_MQTT_PORT', '1883', port, 'Port of the embedded MQTT broker; 0 takes a free one.'),
  mqttTlsCertFile: row(
    'DROVER_MQTT_TLS_CERT_FILE',
    null,
    text,
    'Certificate (PEM, with its chain) of the embedded MQTT broker, which then speaks TLS only.',
  ),
  mqttTlsKeyFile: row('DROVER_MQTT_TLS_KEY_FILE', null, text, 'Private key (PEM) of that certificate.'),
  mqttUrl: row(
    'DROVER_MQTT_URL',
    null,
    url('mqtt', 'mqtts', 'ws', 'wss'),
    'An MQTT broker to use instead of the embedded one.',
    {
      secret: true,
    },
  ),
  mqttCaFile: row(
    'DROVER_MQTT_CA_FILE',
    null,
    text,
    'Certificates (PEM) of who signs that of the broker, trusted beside those of the system.',
  ),
  mqttClientId: row(
    'DROVER_MQTT_CLIENT_ID',
    null,
    text,
    'Name of this process at that broker, given to no other; made of host and port when unset.',
  ),
  organization: row('DROVER_ORGANIZATION', 'drover', textOfAtLeast(1), 'Organization made at the first start.'),
  adminEmail: row('DROVER_ADMIN_EMAIL', null, email, 'Email of the user made at the first start, with profile root.'),
  adminPassword: row('DROVER_ADMIN_PASSWORD', null, textOfAtLeast(8), 'Password of that user.', { secret: true }),
  adminApiKey: row('DROVER_ADMIN_API_KEY', null, textOfAtLeast(16), 'API key of that user.', { secret: true }),
  secret: row(
    'DROVER_SECRET',
    null,
    textOfAtLeast(32),
    'Seals the API keys kept in the database and signs the tokens of users; the same in every process. Made at the first start and kept in the database when unset.',
    { secret: true },
  ),
  jwtPrivateKeyFile: row(
    'DROVER_JWT_PRIVATE_KEY_FILE',
    null,
    text,
    'A private key (PEM, RSA or P-256): tokens are then signed RS256 or ES256.',
  ),
  tokenLifetimeMs: row(
    'DROVER_TOKEN_LIFETIME_MS',
    '28800000',
    wholeNumber(1_000, longestMs),
    'How long a token of a user is good.',
  ),
  northApiKeys: row(
    'DROVER_NORTH_API_KEYS',
    'true',
    trueOrFalse,
    'Whether clients may use API keys; devices always may.',
  ),
  targetEntitiesMax: row(
    'DROVER_TARGET_ENTITIES_MAX',
    '100',
    wholeNumber(1, 100_000),
    'Entities in one array of a target.',
  ),
  bodyBytesMax: row(
    'DROVER_BODY_BYTES_MAX',
    '307200',
    wholeNumber(1_024, 1_073_741_824),
    'Size of the body of a request.',
  ),
  bulkBytesMax: row(
    'DROVER_BULK_BYTES_MAX',
    '104857600',
    wholeNumber(1_024, 10_737_418_240),
    'Size of the body of a bulk provisioning, which is read as it comes.',
  ),
  bulkRowsMax: row(
    'DROVER_BULK_ROWS_MAX',
    '100000',
    wholeNumber(1, 10_000_000),
    'Entities in one bulk provisioning; their results are held until all are done.',
  ),
  minOperationTimeoutMs: row(
    'DROVER_MIN_OPERATION_TIMEOUT_MS',
    '40000',
    wholeNumber(0, longestMs),
    'The `timeout` and `ackTimeout` of a job together must be longer than this.',
  ),
  cancelAtOnceMax: row(
    'DROVER_CANCEL_AT_ONCE_MAX',
    '10000',
    wholeNumber(0, 1_000_000),
    'A job with no more open operations than this, none launched, is cancelled when the DELETE returns.',
  ),
  pullRedeliveryMs: row(
    'DROVER_PULL_REDELIVERY_MS',
    '30000',
    wholeNumber(0, longestMs),
    'How long after it was handed to a device that asks for work an operation not heard of is offered again.',
  ),
  pullCallsMax: row(
    'DROVER_PULL_CALLS_MAX',
    '20000',
    wholeNumber(1, 1_000_000),
    'Devices whose call for work is held open at once; others are told by `Retry-After` when to come again.',
  ),
  deviceUrlTemplate: row(
    'DROVER_DEVICE_URL_TEMPLATE',
    'http://{address}:1123/south/v80/devices/{id}/operation/request',
    deviceUrlTemplate,
    'Where a device without a URL of its own is reached over HTTP.',
  ),
  deviceHostsRefused: row(
    'DROVER_DEVICE_HOSTS_REFUSED',
    null,
    listOf(hostOrNetwork),
    'Hosts and networks (`10.0.0.0/8`), separated by commas, at which no device is called.',
  ),
  callbackAllowLoopback: row(
    'DROVER_CALLBACK_ALLOW_LOOPBACK',
    'false',
    trueOrFalse,
    'Whether callbacks may go to loopback addresses.',
  ),
  callbackAllowLinkLocal: row(
    'DROVER_CALLBACK_ALLOW_LINK_LOCAL',
    'false',
    trueOrFalse,
    'Whether callbacks may go to link-local addresses and those of cloud metadata services.',
  ),
  callbackAllowHttps: row(
    'DROVER_CALLBACK_ALLOW_HTTPS',
    'false',
    trueOrFalse,
    'Whether callbacks may use HTTPS beside HTTP.',
  ),
  callbackSecret: row(
    'DROVER_CALLBACK_SECRET',
    null,
    textOfAtLeast(16),
    'Signs callbacks, after the Standard Webhooks convention.',
    {
      secret: true,
    },
  ),
  callbackStartedName: row(
    'DROVER_CALLBACK_STARTED_NAME',
    'jobStarted',
    pathSegment,
    'Last segment of the address told that a job started.',
  ),
  callbackFinishedName: row(
    'DROVER_CALLBACK_FINISHED_NAME',
    'jobFinished',
    pathSegment,
    'Last segment of the address told that a job finished.',
  ),
  smtpUrl: row(
    'DROVER_SMTP_URL',
    null,
    url('smtp', 'smtps'),
    'Mail server for the notifications of jobs; no mail when unset.',
    { secret: true },
  ),
  smtpFrom: row('DROVER_SMTP_FROM', 'drover@localhost', email, 'Sender of these mails.'),
  snmpTrapHost: row('DROVER_SNMP_TRAP_HOST', null, text, 'Receiver of the SNMP traps of jobs; no trap when unset.'),
  snmpTrapPort: row('DROVER_SNMP_TRAP_PORT', '162', port, 'Port of that receiver.'),
  snmpTrapVersion: row('DROVER_SNMP_TRAP_VERSION', '2c', oneOf('2c', '3'), 'Version of SNMP of these traps.'),
  snmpTrapCommunity: row(
    'DROVER_SNMP_TRAP_COMMUNITY',
    'public',
    textOfAtLeast(1),
    'Community of these traps in version 2c.',
    { secret: true },
  ),
  snmpTrapUser: row('DROVER_SNMP_TRAP_USER', null, text, 'User of these traps in version 3.'),
  snmpTrapAuthProtocol: row(
    'DROVER_SNMP_TRAP_AUTH_PROTOCOL',
    'sha256',
    oneOf('md5', 'sha', 'sha224', 'sha256', 'sha384', 'sha512'),
    'How these traps are signed in version 3.',
  ),
  snmpTrapAuthKey: row(
    'DROVER_SNMP_TRAP_AUTH_KEY',
    null,
    textOfAtLeast(8),
    'Password that signs these traps in version 3; not signed when unset.',
    { secret: true },
  ),
  snmpTrapPrivProtocol: row(
    'DROVER_SNMP_TRAP_PRIV_PROTOCOL',
    'aes',
    oneOf('des', 'aes', 'aes256b', 'aes256r'),
    'How these traps are encrypted in version 3; AES-256 with the key extension of Blumenthal or Reeder.',
  ),
  snmpTrapPrivKey: row(
    'DROVER_SNMP_TRAP_PRIV_KEY',
    null,
    textOfAtLeast(8),
    'Password that encrypts these traps in version 3; not encrypted when unset.',
    { secret: true },
  ),
  snmpTrapEngineId: row(
    'DROVER_SNMP_TRAP_ENGINE_ID',
    '80001f880464726f766572',
    engineId,
    'Engine of these traps in version 3, in hexadecimal digits; the receiver must know it.',
  ),
  snmpTrapOid: row(
    'DROVER_SNMP_TRAP_OID',
    '1.3.6.1.4.1.8072.9999.9999',
    objectIdentifier,
    'Object identifier under which the trap and its objects are numbered.',
  ),
  retentionMonths: row(
    'DROVER_RETENTION_MONTHS',
    null,
    wholeNumber(1, 1_200),
    'Ended operations older than this are removed; kept for ever when unset.',
  ),
  deliveryRetentionDays: row(
    'DROVER_DELIVERY_RETENTION_DAYS',
    '90',
    wholeNumber(1, 36_500),
    'Deliveries that ended longer ago leave their log, and can no longer be repeated.',
  ),
  ...edges,
  logLevel: row(
    'DROVER_LOG_LEVEL',
    'info',
    oneOf('fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'),
    'What is logged.',
  ),
}

type Variables = typeof variables
type ValueOf<V> = V extends Variable<infer T, infer Default> ? (null extends Default ? T | null : T) : never

/** The values of all variables. Spans in milliseconds, sizes in bytes; null where a variable without a default is unset. */
export type Config = { readonly [Key in keyof Variables]: ValueOf<Variables[Key]> }

type Environment = Readonly<Record<string, string | undefined>>

/** All that is wrong with the environment, one line each. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError'
  readonly faults: readonly string[]

  constructor(faults: readonly string[]) {
    super(`The configuration cannot be used:\n${faults.map(fault => `- ${fault}`).join('\n')}`)
    this.faults = faults
  }
}

function contradictions(config: Config): string[] {
  const faults: string[] = []
  const alone = config.roles.length === roles.length
  if (!alone && config.databaseUrl === null) {
    faults.push(
      'DROVER_ROLES leaves out a role, but only a process with all roles runs on the embedded database: set DATABASE_URL too',
    )
  }
  if ((config.mqttTlsCertFile === null) !== (config.mqttTlsKeyFile === null)) {
    faults.push('DROVER_MQTT_TLS_CERT_FILE and DROVER_MQTT_TLS_KEY_FILE are of use together only: set both')
  }
  if (config.snmpTrapHost !== null && config.snmpTrapVersion === '3' && config.snmpTrapUser === null) {
    faults.push('DROVER_SNMP_TRAP_VERSION is 3, which has no traps without a user: set DROVER_SNMP_TRAP_USER too')
  }
  if (config.snmpTrapPrivKey !== null && config.snmpTrapAuthKey === null) {
    faults.push('DROVER_SNMP_TRAP_PRIV_KEY encrypts only what is signed: set DROVER_SNMP_TRAP_AUTH_KEY too')
  }
  return faults
}

/** Reads the environment; an empty variable counts as unset. Throws a `ConfigError` with all faults at once. */
export function readConfig(environment: Environment): Config {
  const faults: string[] = []
  const entries = Object.entries(variables).map(([key, variable]) => {
    const given = environment[variable.name] || variable.default
    if (given === null) return [key, null]
    try {
      return [key, variable.parse(given)]
    } catch (error) {
      const expected = error instanceof Error ? error.message : String(error)
      faults.push(`${variable.name} must be ${expected}${variable.secret ? '' : `, not "${given}"`}`)
      return [key, null]
    }
  })
  if (faults.length > 0) throw new ConfigError(faults)
  const config = Object.fromEntries(entries) as Config
  const contradicting = contradictions(config)
  if (contradicting.length > 0) throw new ConfigError(contradicting)
  return config
}

/** What can be meant and most likely is not, each worth a warning at the start. */
export function configurationWarnings({ roles: chosen, mqttUrl }: Config): string[] {
  if (mqttUrl !== null || chosen.includes('south') === chosen.includes('engine')) return []
  return [
    `This process is ${chosen.join(' and ')}, and without DROVER_MQTT_URL MQTT devices connect to a broker embedded in each south: an engine in another process cannot reach them, and their operations wait for ever. Set DROVER_MQTT_URL to a broker that all processes use, unless no device speaks MQTT.`,
  ]
}

/** Variables that look like ours and mean nothing: most likely misspelt, worth a warning at the start. */
export function unknownVariables(environment: Environment): string[] {
  const known = new Set(Object.values(variables).map(({ name }) => name))
  return Object.keys(environment).filter(name => /^DROVER_(?!TEST_)/.test(name) && !known.has(name))
}

/** The reference of all variables, as a table in Markdown. */
export function configurationTable(): string {
  const lines = Object.values(variables).map(
    variable =>
      `| \`${variable.name}\` | ${variable.default === null ? '' : `\`${variable.default}\``} | ${variable.meaning} |`,
  )
  return ['| variable | default | meaning |', '|---|---|---|', ...lines].join('\n')
}
