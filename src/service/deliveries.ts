/** Builds what tells clients of their jobs: the queue, its worker and the ways out. Decides nothing. */
import type { Logger } from 'pino'

import type { Config } from '../config/config.ts'
import { type AddressRules, addressRules, LINK_LOCAL_AND_METADATA } from '../connectors/address-guard.ts'
import { CALLBACK_NAMES, createCallbackConnector } from '../connectors/callback.ts'
import { createMailConnector } from '../connectors/mail.ts'
import { createNameService } from '../connectors/name-service.ts'
import { createTrapConnector, type TrapOptions } from '../connectors/trap.ts'
import type { DeliveryChannel } from '../domain/delivery.ts'
import type { Clock } from '../engine/clock.ts'
import type { SendDelivery } from '../engine/connector.ts'
import { createDeliveryEnqueuer, reenterDeliveries } from '../engine/deliveries.ts'
import { createDeliveryWorker } from '../engine/delivery-worker.ts'
import type { JobNotices } from '../engine/job-settling.ts'
import { toldOperations } from '../north/told-operations.ts'
import type { Database } from '../store/database.ts'
import { type DeliveryQueue, openDeliveryQueue } from '../store/delivery-queue.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import type { Tracing } from '../telemetry/tracing.ts'

export interface Deliveries {
  readonly notices: JobNotices
  readonly queue: DeliveryQueue
  start(): void
  close(): Promise<void>
}

export interface DeliveriesParts {
  readonly config: Config
  /** of who signs those of receivers, PEM, trusted beside those of the system */
  readonly certificates: readonly string[]
  readonly database: Database
  readonly clock: Clock
  readonly log: Logger
  readonly metrics: Metrics
  readonly tracing: Tracing | null
}

/** How long a delivery is tried before it is given up, and the pauses between its attempts, ms. Serves: decisions on notifications. */
export const GIVE_UP_AFTER_MS = 24 * 3_600_000
export const PAUSES = { firstMs: 5_000, longestMs: 3_600_000 }

/** Opens the queue of deliveries; nothing is delivered before `start`. */
export async function openDeliveries(parts: DeliveriesParts): Promise<Deliveries> {
  const { config, certificates, database, clock, log, metrics, tracing } = parts
  const queue = await openDeliveryQueue({
    database,
    log,
    supervise: config.roles.includes('engine'),
    pauses: PAUSES,
  })
  await reenterDeliveries(database, queue)
  const callback = createCallbackConnector({
    rules: callbackAddresses(config),
    nameService: createNameService({ ...CALLBACK_NAMES, servers: config.nameServers ?? [] }),
    allowHttps: config.callbackAllowHttps,
    certificates,
    names: { jobStarted: config.callbackStartedName, jobFinished: config.callbackFinishedName },
    secret: config.callbackSecret,
  })
  const mail = config.smtpUrl === null ? null : createMailConnector({ url: config.smtpUrl, from: config.smtpFrom })
  const trapOptions = trapOptionsOf(config)
  const trap = trapOptions && createTrapConnector(trapOptions)
  const shown = (channel: DeliveryChannel, send: SendDelivery) => tracing?.sender(channel, send) ?? send
  const worker = createDeliveryWorker({
    database,
    queue,
    clock,
    log,
    senders: {
      callback: shown('callback', callback.send),
      ...(mail && { mail: shown('mail', mail.send) }),
      ...(trap && { trap: shown('trap', trap.send) }),
    },
    readOperations: toldOperations(database),
    giveUpAfterMs: GIVE_UP_AFTER_MS,
    onAttempt: metrics.countDelivery,
    onRun: metrics.observer.ran,
  })
  const notices = createDeliveryEnqueuer({
    queue,
    mailHost: config.smtpUrl === null ? null : new URL(config.smtpUrl).host,
    trapHost: config.snmpTrapHost,
  })
  return {
    queue,
    notices: tracing?.notices(notices) ?? notices,
    start: () => worker.start(),
    async close() {
      await worker.stop()
      await queue.stop()
      await callback.close()
      mail?.close()
      trap?.close()
    },
  }
}

/** Which addresses a callback may be connected to: the same as it may be pointed to. */
export function callbackAddresses(
  config: Pick<Config, 'callbackAllowLoopback' | 'callbackAllowLinkLocal'>,
): AddressRules {
  const allowed = config.callbackAllowLinkLocal ? LINK_LOCAL_AND_METADATA : []
  return addressRules({ allowLoopback: config.callbackAllowLoopback, allowed })
}

function trapOptionsOf(config: Config): TrapOptions | null {
  if (config.snmpTrapHost === null) return null
  return {
    host: config.snmpTrapHost,
    port: config.snmpTrapPort,
    oid: config.snmpTrapOid,
    credentials: trapCredentials(config),
  }
}

function trapCredentials(config: Config): TrapOptions['credentials'] {
  if (config.snmpTrapVersion === '2c') return { version: '2c', community: config.snmpTrapCommunity }
  const { snmpTrapAuthKey, snmpTrapPrivKey } = config
  return {
    version: '3',
    engineId: config.snmpTrapEngineId,
    user: {
      name: config.snmpTrapUser ?? '',
      ...(snmpTrapAuthKey !== null && { auth: { protocol: config.snmpTrapAuthProtocol, key: snmpTrapAuthKey } }),
      ...(snmpTrapPrivKey !== null && { priv: { protocol: config.snmpTrapPrivProtocol, key: snmpTrapPrivKey } }),
    },
  }
}
