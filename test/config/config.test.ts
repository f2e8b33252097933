import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { describe, expect, test } from 'vitest'
import {
  ConfigError,
  configurationTable,
  configurationWarnings,
  readConfig,
  unknownVariables,
} from '../../src/config/config.ts'

const page = path.resolve('docs/reference/configuration.md')

describe('the configuration', () => {
  test('an empty environment gives the defaults', () => {
    expect(readConfig({})).toMatchObject({
      host: '127.0.0.1',
      port: 8080,
      roles: ['north', 'south', 'engine'],
      databaseUrl: null,
      targetEntitiesMax: 100,
      bodyBytesMax: 307_200,
      minOperationTimeoutMs: 40_000,
      cancelAtOnceMax: 10_000,
      callbackAllowLoopback: false,
      northApiKeys: true,
    })
  })

  test('each variable is read as its kind; an empty one counts as unset', () => {
    const config = readConfig({
      DROVER_PORT: '0',
      DROVER_ROLES: 'engine, north,engine',
      DATABASE_URL: 'postgres://u:p@db/drover',
      DROVER_NORTH_API_KEYS: 'false',
      DROVER_DEVICE_HOSTS_REFUSED: '10.0.0.0/8,metadata',
      DROVER_NAME_SERVERS: '10.0.0.2, 10.0.0.3:5353,fd00::2,[fd00::3]:5353',
      DROVER_HOST: '',
    })
    expect(config).toMatchObject({
      port: 0,
      roles: ['engine', 'north'],
      databaseUrl: 'postgres://u:p@db/drover',
      northApiKeys: false,
      deviceHostsRefused: ['10.0.0.0/8', 'metadata'],
      nameServers: ['10.0.0.2', '10.0.0.3:5353', 'fd00::2', '[fd00::3]:5353'],
      host: '127.0.0.1',
    })
  })

  test('all faults are told at once, each with what is expected', () => {
    const faulty = {
      DROVER_PORT: '80a80',
      DROVER_ROLES: 'north,west',
      DROVER_CALLBACK_ALLOW_HTTPS: 'yes',
      DROVER_DEVICE_URL_TEMPLATE: 'http://gateway/{id}',
      DROVER_ADMIN_EMAIL: 'nobody',
    }
    expect(() => readConfig(faulty)).toThrow(ConfigError)
    expect(() => readConfig(faulty)).toThrow(
      [
        'The configuration cannot be used:',
        '- DROVER_PORT must be a whole number from 0 to 65535, not "80a80"',
        '- DROVER_ROLES must be one of north, south, engine, not "north,west"',
        '- DROVER_ADMIN_EMAIL must be an email address, not "nobody"',
        '- DROVER_DEVICE_URL_TEMPLATE must be an address in which {address} stands for that of the device, not "http://gateway/{id}"',
        '- DROVER_CALLBACK_ALLOW_HTTPS must be true or false, not "yes"',
      ].join('\n'),
    )
  })

  test('a secret is never repeated in a fault', () => {
    const reading = () => readConfig({ DATABASE_URL: 'mysql://u:hunter2@db', DROVER_SECRET: 'hunter3' })
    expect(reading).toThrow('DATABASE_URL must be an address that begins with postgres:// or postgresql://')
    expect(reading).not.toThrow(/hunter/)
  })

  test('a process with some of the roles needs a database of its own', () => {
    expect(() => readConfig({ DROVER_ROLES: 'engine' })).toThrow('set DATABASE_URL too')
    expect(readConfig({ DROVER_ROLES: 'engine', DATABASE_URL: 'postgres://db/drover' }).roles).toEqual(['engine'])
  })

  test('traps of version 3 need a user, and encryption a signature', () => {
    const trap = {
      DROVER_SNMP_TRAP_HOST: 'nms',
      DROVER_SNMP_TRAP_VERSION: '3',
      DROVER_SNMP_TRAP_PRIV_KEY: 'eight letters',
    }
    expect(() => readConfig(trap)).toThrow(/set DROVER_SNMP_TRAP_USER too[\s\S]*set DROVER_SNMP_TRAP_AUTH_KEY too/)
    const whole = { ...trap, DROVER_SNMP_TRAP_USER: 'drover', DROVER_SNMP_TRAP_AUTH_KEY: 'eight letters' }
    expect(readConfig(whole)).toMatchObject({ snmpTrapVersion: '3', snmpTrapAuthProtocol: 'sha256' })
    expect(() => readConfig({ DROVER_SNMP_TRAP_ENGINE_ID: '0102' })).toThrow('5 to 32 bytes')
    expect(() => readConfig({ DROVER_SNMP_TRAP_OID: 'enterprises.1' })).toThrow('an object identifier')
  })

  test.for(['name.example', '10.0.0.2:0', '10.0.0.2:70000', '10.0.0', '[fd00::3', 'fd00::3:x'])(
    'a name server that is none, %s, is a fault',
    entry => {
      expect(() => readConfig({ DROVER_NAME_SERVERS: entry })).toThrow(
        '- DROVER_NAME_SERVERS must be addresses such as',
      )
    },
  )

  test('a certificate of the broker needs its key, and the other way round', () => {
    const file = import.meta.filename
    expect(() => readConfig({ DROVER_MQTT_TLS_CERT_FILE: file })).toThrow('set both')
    expect(() => readConfig({ DROVER_MQTT_TLS_KEY_FILE: file })).toThrow('set both')
  })

  test('a file that cannot be read is a fault that names it and its variable', () => {
    for (const [name, file, code] of [
      ['DROVER_MQTT_TLS_CERT_FILE', '/nowhere/cert.pem', 'ENOENT'],
      ['DROVER_MQTT_CA_FILE', import.meta.dirname, 'EISDIR'],
      ['DROVER_HTTPS_CA_FILE', '/nowhere/ca.pem', 'ENOENT'],
      ['DROVER_JWT_PRIVATE_KEY_FILE', '/nowhere/key.pem', 'ENOENT'],
    ] as const)
      expect(() => readConfig({ [name]: file })).toThrow(
        `- ${name} must be a file that can be read (${code}), not "${file}"`,
      )
  })

  test.for(['10.0.0.0/33', '10.0.0', 'fe80::/200', '10.0.0.0/8/8', 'a b', '-x', '*.example'])(
    'a host to be refused that is none, %s, is a fault that names it',
    entry => {
      expect(() => readConfig({ DROVER_DEVICE_HOSTS_REFUSED: `metadata,192.168.0.0/16,${entry},::1` })).toThrow(
        `- DROVER_DEVICE_HOSTS_REFUSED must be host names, addresses and networks such as 10.1.0.0/16, of which "${entry}" is none, not "`,
      )
    },
  )

  test('devices and the work in different processes behind embedded brokers are worth a warning', () => {
    const database = { DATABASE_URL: 'postgres://db/drover' }
    const warnings = (variables: Record<string, string>) =>
      configurationWarnings(readConfig({ ...database, ...variables }))
    expect(warnings({ DROVER_ROLES: 'north,south' })).toEqual([expect.stringContaining('DROVER_MQTT_URL')])
    expect(warnings({ DROVER_ROLES: 'engine' })).toEqual([expect.stringContaining('DROVER_MQTT_URL')])
    expect(warnings({ DROVER_ROLES: 'engine', DROVER_MQTT_URL: 'mqtt://broker' })).toEqual([])
    expect(warnings({ DROVER_ROLES: 'south,engine' })).toEqual([])
    expect(warnings({ DROVER_ROLES: 'north' })).toEqual([])
    expect(warnings({})).toEqual([])
  })

  test('a misspelt variable is found', () => {
    expect(
      unknownVariables({
        DROVER_PROT: '1',
        DROVER_PORT: '1',
        DROVER_URL: 'http://127.0.0.1',
        DROVER_API_KEY: 'k',
        DROVER_TEST_DATABASE_URL: 'x',
        PATH: '/bin',
      }),
    ).toEqual(['DROVER_PROT'])
  })

  test('the reference holds every variable with its default and meaning', async () => {
    const text = await readFile(page, 'utf8')
    const printed = text.replace(
      /(<!-- table -->\n)[\s\S]*?(\n?<!-- end of table -->)/,
      (_, open: string) => `${open}\n${configurationTable()}\n\n<!-- end of table -->`,
    )
    await expect(printed).toMatchFileSnapshot(page)
  })
})
