/**
 * What an operator may set, each by one environment variable and one row of a table, from which the reference in
 * `docs/reference/configuration.md` is printed too. It reads and judges; it opens nothing and knows no part of the service.
 */

import { accessVariables } from './access.ts'
import { deviceVariables } from './devices.ts'
import { edges } from './edges.ts'
import { limits } from './limits.ts'
import { mqttVariables } from './mqtt.ts'
import { notificationVariables } from './notifications.ts'
import { processVariables, roles } from './process.ts'
import type { Variable } from './row.ts'

const variables = {
  ...processVariables,
  ...mqttVariables,
  ...accessVariables,
  ...limits,
  ...deviceVariables,
  ...notificationVariables,
  ...edges,
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

/** What only clients read, and whoever starts a service may have set for them. */
const OF_CLIENTS = ['DROVER_URL', 'DROVER_API_KEY']

/** Variables that look like ours and mean nothing: most likely misspelt, worth a warning at the start. */
export function unknownVariables(environment: Environment): string[] {
  const known = new Set([...OF_CLIENTS, ...Object.values(variables).map(({ name }) => name)])
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
