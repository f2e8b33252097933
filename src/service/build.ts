/** Builds the parts of a service on its database and starts the chosen roles. Decides nothing: it only says who knows whom. */
import { randomInt } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { hostname } from 'node:os'
import path from 'node:path'
import type { FastifyInstance } from 'fastify'

import type { Config } from '../config/config.ts'
import { addressRules } from '../connectors/address-guard.ts'
import { functionConnector } from '../connectors/function.ts'
import { functionPool } from '../connectors/function-pool.ts'
import { httpConnector } from '../connectors/http.ts'
import { httpHosts } from '../connectors/http-hosts.ts'
import { createNameService } from '../connectors/name-service.ts'
import { createAccess } from '../engine/access.ts'
import { databaseClock } from '../engine/clock.ts'
import { createConnectorFunctions } from '../engine/connector-functions.ts'
import { createDeviceAccess } from '../engine/device-access.ts'
import { createDeviceNames } from '../engine/device-names.ts'
import { createEngine } from '../engine/engine.ts'
import { firstStart, tellFirstCredentials } from '../engine/first-start.ts'
import { readyMonths } from '../engine/housekeeper.ts'
import { createNumbering } from '../engine/numbering.ts'
import { createPasswords } from '../engine/passwords.ts'
import { createSeal, serviceSecret } from '../engine/secret.ts'
import { createTokens } from '../engine/tokens.ts'
import { registerNorth } from '../north/north.ts'
import { serveConsole } from '../server/console-files.ts'
import { describeInterface } from '../server/openapi.ts'
import { createServer } from '../server/server.ts'
import { south } from '../south/south.ts'
import { openDatabase } from '../store/database.ts'
import { compileEntityFilter } from '../store/entity-filter.ts'
import { migrate } from '../store/migrate.ts'
import { forgetCalls } from '../store/presence.ts'
import { createMetrics, type Metrics, openMetricsPort, serveMetrics } from '../telemetry/metrics.ts'
import type { Tracing, TracingOptions } from '../telemetry/tracing.ts'
import { openDeliveries } from './deliveries.ts'
import { northParts, type Shared, southOf } from './doors.ts'
import { listening } from './listening.ts'
import { openLive } from './live.ts'
import { createMqtt } from './mqtt.ts'
import type { AtStop, Service, ServiceOptions } from './service.ts'
import { applicabilityOf } from './types.ts'

const STOP_GRACE_MS = 5_000
/** Where the build leaves the console, seen from the sources and from what is compiled beside them. */
const CONSOLE_FOLDER = path.resolve(import.meta.dirname, '../../dist/console')
const DAY_MS = 86_400_000

/** Builds and starts it; what it tells `atStop` is to be done when it stops, the last first, also where it fails. */
export async function build(
  url: string,
  { config, log, tell }: ServiceOptions,
  atStop: AtStop,
): Promise<Omit<Service, 'stop'>> {
  await migrate({ url, log })
  const database = openDatabase({ url, max: config.databaseConnectionsMax, log })
  atStop(() => database.close())
  const heartDatabase = openDatabase({ url, max: 1, log })
  atStop(() => heartDatabase.close())
  const clock = await databaseClock(heartDatabase)
  const now = () => clock.now()
  const node = randomInt(1, 2 ** 31 - 1)
  const numbering = await createNumbering({ database: heartDatabase, clock, node })
  const nextNumber = numbering.next

  const secret = await serviceSecret(database, config.secret)
  const seal = createSeal(secret)
  const passwords = createPasswords()
  await firstStart({ database, now, seal, passwords }, config)

  await readyMonths(database, now())
  const metrics = createMetrics()
  const tracing = await openTracing(config, { database, now, log, node })
  if (tracing) atStop(() => tracing.stop())
  const certificates = config.httpsCaFile === null ? [] : [await readFile(config.httpsCaFile, 'utf8')]
  const deliveries = await openDeliveries({ config, certificates, database, clock, log, metrics, tracing })
  atStop(() => deliveries.close())

  const names = createDeviceNames({ database, clock })
  const refused = config.deviceHostsRefused ?? []
  const hostsUnder = (allowLoopback: boolean) =>
    httpHosts({
      addresses: addressRules({ allowLoopback, refused }),
      nameService: createNameService({ servers: config.nameServers ?? [] }),
      bodyBytesMax: config.bodyBytesMax,
      certificates,
    })
  const hosts = hostsUnder(true)
  const mqtt = createMqtt({ config, log, node, names, countRefused: metrics.countBrokerRefusal })
  if (config.mqttUrl === null && config.roles.includes('south')) await forgetCalls(database)
  atStop(() => mqtt.close())
  const pool = functionPool()
  atStop(() => pool.stop())
  const connectorFunctions = createConnectorFunctions({ database, clock, run: pool.run })
  const functions = functionConnector({
    hosts,
    namedHosts: hostsUnder(config.callbackAllowLoopback),
    link: mqtt.link,
    run: pool.run,
    sourceOf: connectorFunctions.sourceOf,
    urlTemplate: config.deviceUrlTemplate,
  })
  const connectors = [httpConnector(hosts, config.deviceUrlTemplate), mqtt.connector, functions]
  const engine = createEngine({
    database,
    heartDatabase,
    clock,
    measureClock: clock.measure,
    log,
    node,
    nodeName: hostname(),
    roles: config.roles,
    connectors: tracing ? connectors.map(tracing.connector) : connectors,
    notices: deliveries.notices,
    nextNumber,
    keepNumbering: numbering.keep,
    openKey: sealed => seal.open(sealed),
    pullRedeliveryMs: config.pullRedeliveryMs,
    retentionMonths: config.retentionMonths,
    claimsByPartition: config.claimsByPartition,
    callMs: config.mqttCallMs,
    deliveryRetentionMs: config.deliveryRetentionDays * DAY_MS,
    applicabilityOf,
    compile: compileEntityFilter,
    observer: metrics.observer,
  })
  metrics.countConnected(engine.presence.connectedHere)
  atStop(() => engine.stop())

  const deviceAccess = createDeviceAccess({ database, clock, hashKey: seal.hash })
  const access = createAccess({
    database,
    now,
    seal,
    tokens: await openTokens(config, secret, now),
    passwords,
    onForget: () => deviceAccess.forgetUsers(),
  })
  const parts: Shared = {
    config,
    log,
    database,
    clock,
    now,
    nextNumber,
    seal,
    passwords,
    engine,
    access,
    deviceAccess,
    names,
    mqtt,
    connectorFunctions,
    deliveries,
    metrics,
  }
  const server = createServer({
    log,
    bodyBytesMax: config.bodyBytesMax,
    ready: () => database.executeSql('select 1'),
    trustedProxies: config.trustedProxies ?? [],
    origins: config.corsOrigins ?? [],
    compress: config.compression,
  })
  describeInterface(server)
  metrics.countRequests(server)
  tracing?.traceRequests(server)
  const southParts = tracing ? tracing.doors(southOf(parts)) : southOf(parts)
  if (config.roles.includes('north')) {
    const live = await openLive(config, parts)
    atStop(() => live.stop())
    metrics.countStreams(live.open)
    server.addHook('preClose', async () => live.endStreams())
    registerNorth(server, northParts(parts, live))
    await serveConsole(server, CONSOLE_FOLDER)
  }
  if (config.roles.includes('south')) {
    const settings = { pollsMax: config.pullCallsMax }
    await server.register(south, { prefix: '/south/v80', parts: southParts, settings })
  }

  const mqttPort = await listening('DROVER_MQTT_PORT', mqtt.open(southParts))
  atStop(() => mqtt.stopTaking(STOP_GRACE_MS))
  await engine.start(config.roles.includes('engine'))
  if (config.roles.includes('engine')) deliveries.start()
  atStop(() => server.close())
  const metricsUrl = await openMetrics(server, metrics, config, atStop)
  const listened = await listening('DROVER_PORT', listen(server, config))
  // Only now: what was told of a start that failed would not be told again.
  const consoleUrl = config.roles.includes('north') ? `${listened}/console` : null
  await tellFirstCredentials({ database, seal }, credentials => tell(credentials, consoleUrl))
  return { database, mqttPort, metricsUrl, url: listened }
}

/** The tokens of users. Fails where their key cannot be read. */
async function openTokens({ jwtPrivateKeyFile, tokenLifetimeMs }: Config, secret: string, now: () => Date) {
  const key = jwtPrivateKeyFile === null ? {} : { privateKey: await readFile(jwtPrivateKeyFile, 'utf8') }
  return createTokens({ secret, lifetimeMs: tokenLifetimeMs, now, ...key })
}

/** Traces where a receiver is configured; without one not even their code is read. */
async function openTracing(
  { otlpUrl, traceRatio, traceOperationsMax }: Config,
  parts: Omit<TracingOptions, 'url' | 'ratio' | 'operationsMax'>,
): Promise<Tracing | null> {
  if (otlpUrl === null) return null
  const { createTracing } = await import('../telemetry/tracing.ts')
  return createTracing({ ...parts, url: otlpUrl, ratio: traceRatio, operationsMax: traceOperationsMax })
}

/** Metrics beside the interfaces, or at an address of their own, which others need not reach. */
async function openMetrics(
  server: FastifyInstance,
  metrics: Metrics,
  { host, metricsPort }: Config,
  atStop: AtStop,
): Promise<string | null> {
  if (metricsPort === null) {
    serveMetrics(server, metrics)
    return null
  }
  const opened = await listening('DROVER_METRICS_PORT', openMetricsPort(metrics, { host, port: metricsPort }))
  atStop(() => opened.close())
  return opened.url
}

async function listen(server: FastifyInstance, { host, port }: Config): Promise<string> {
  return await server.listen({ host, port })
}
