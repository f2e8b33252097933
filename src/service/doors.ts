/** Builds what the doors for clients and for devices are made of. Decides nothing. */
import type { Logger } from 'pino'
import type { Config } from '../config/config.ts'
import { readRequestParameters } from '../contract/request-parameters.ts'
import type { Access } from '../engine/access.ts'
import { createAudit } from '../engine/audit.ts'
import type { DatabaseClock } from '../engine/clock.ts'
import { closeEntities, closeType, drainEntities, drainType } from '../engine/closing.ts'
import { createCollection } from '../engine/collection.ts'
import type { ConnectorFunctions } from '../engine/connector-functions.ts'
import { createDatastreams } from '../engine/datastreams.ts'
import type { createDeviceAccess } from '../engine/device-access.ts'
import type { DeviceNames } from '../engine/device-names.ts'
import { wakeReached } from '../engine/device-reaching.ts'
import type { Engine } from '../engine/engine.ts'
import { createEntities } from '../engine/entities.ts'
import { createJobs } from '../engine/jobs.ts'
import { createOperationTypes } from '../engine/operation-types.ts'
import { closeOrganization, drainOrganization } from '../engine/organization-closing.ts'
import { createOrganizations } from '../engine/organizations.ts'
import type { createPasswords } from '../engine/passwords.ts'
import { createPlanner } from '../engine/plan.ts'
import type { createSeal } from '../engine/secret.ts'
import { createTasks } from '../engine/tasks.ts'
import { createUsers } from '../engine/users.ts'
import { createVerify } from '../engine/verify.ts'
import { createWhy } from '../engine/why.ts'
import type { NorthParts } from '../north/north.ts'
import type { SouthParts } from '../south/parts.ts'
import type { Database } from '../store/database.ts'
import { compileTriedFilter } from '../store/entity-filter.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import type { Deliveries } from './deliveries.ts'
import type { Live } from './live.ts'
import type { Mqtt } from './mqtt.ts'
import { findType } from './types.ts'

/** The parts of a service that more than one of its doors needs. */
export type Shared = {
  readonly config: Config
  readonly log: Logger
  readonly database: Database
  readonly clock: DatabaseClock
  readonly now: () => Date
  readonly nextNumber: () => bigint
  readonly seal: ReturnType<typeof createSeal>
  readonly passwords: ReturnType<typeof createPasswords>
  readonly engine: Engine
  readonly access: Access
  readonly deviceAccess: ReturnType<typeof createDeviceAccess>
  readonly names: DeviceNames
  readonly mqtt: Mqtt
  readonly connectorFunctions: ConnectorFunctions
  readonly deliveries: Deliveries
  readonly metrics: Metrics
}

/** What the door for devices is made of. */
export function southOf({
  config,
  database,
  clock,
  log,
  engine,
  access,
  deviceAccess,
  connectorFunctions,
  metrics,
}: Shared): SouthParts {
  return {
    access: {
      authenticate: deviceAccess.authenticate,
      async byToken(deviceId, token) {
        const caller = await access.byToken(token)
        return caller && (await deviceAccess.ofCaller(deviceId, caller))
      },
    },
    answers: engine.answers,
    pending: engine.pending,
    presence: engine.presence,
    collection: createCollection({ database, clock, datastreams: createDatastreams(database) }),
    functions: connectorFunctions,
    bodyBytesMax: config.bodyBytesMax,
    count: metrics.countRefusal,
    now: clock.now,
    log,
  }
}

/** What the door for clients is made of. */
export function northParts(parts: Shared, live: Live): NorthParts {
  const {
    config,
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
  } = parts
  const organizations = createOrganizations({ database, now, access, drainOrganization, closeOrganization })
  const jobsParts = {
    compile: compileTriedFilter,
    database,
    now,
    nextNumber,
    findType,
    onCommit: engine.wake,
  }
  const makeKey = () => {
    const key = seal.newKey()
    return { key, hash: seal.hash(key), sealed: seal.seal(key) }
  }
  const door = { access, organizations, apiKeys: config.northApiKeys }
  return {
    ...door,
    ...live.routes(door),
    database,
    clock,
    audit: createAudit({ database, now }),
    connectorFunctions,
    operationTypes: createOperationTypes({ database, now, drainType, closeType, onCommit: engine.wake }),
    users: createUsers({ database, now, seal, passwords, access }),
    entities: createEntities({
      database,
      clock,
      datastreams: createDatastreams(database),
      nextNumber,
      makeKey,
      closeEntities,
      drainEntities,
      onGone(entities) {
        deviceAccess.forgetDevices(entities)
        names.forget(entities)
        mqtt.disconnect(entities)
        engine.wake()
      },
      wakeReached,
      onWoken: engine.wake,
    }),
    jobs: createJobs({
      ...jobsParts,
      notices: deliveries.notices,
      settling: engine.settling,
      cancelAtOnceMax: config.cancelAtOnceMax,
    }),
    tasks: createTasks(jobsParts),
    now,
    why: createWhy({ database, now, redeliveryMs: config.pullRedeliveryMs }),
    planner: createPlanner(jobsParts),
    verification: createVerify({ database }),
    queue: deliveries.queue,
    bulkBytesMax: config.bulkBytesMax,
    bulkRowsMax: config.bulkRowsMax,
    rules: {
      entitiesMax: config.targetEntitiesMax,
      readParameters: readRequestParameters,
      minOperationTimeoutMs: config.minOperationTimeoutMs,
      callbacks: {
        allowHttps: config.callbackAllowHttps,
        allowLoopback: config.callbackAllowLoopback,
        allowLinkLocal: config.callbackAllowLinkLocal,
      },
    },
  }
}
