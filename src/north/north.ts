/**
 * The door for clients: every noun's routes behind one authentication, under the address of decisions and the one the interface
 * writes. It decides nothing; a noun's file does.
 */
import type { FastifyInstance } from 'fastify'
import type { Audit } from '../engine/audit.ts'
import type { OperationTypes } from '../engine/operation-types.ts'
import { auditRoutes } from './audit.ts'
import { auditRequests } from './audited.ts'
import { type AuthenticationParts, authenticate } from './authentication.ts'
import { type BulkRoutesParts, bulkRoutes } from './bulk-entities.ts'
import { type ConnectorFunctionRoutesParts, connectorFunctionRoutes } from './connector-functions.ts'
import { dataModelRoutes } from './data-models.ts'
import { type DeliveryRoutesParts, deliveryRoutes } from './deliveries.ts'
import { devicePresenceRoutes } from './device-presence.ts'
import { type EntityRoutesParts, entityRoutes } from './entities.ts'
import { jobInsightRoutes } from './job-insight.ts'
import { type JobRoutesParts, jobRoutes } from './jobs.ts'
import { type LiveEventRoutesParts, liveEventRoutes } from './live-events.ts'
import { operationTypeRoutes } from './operation-types.ts'
import { operationRoutes } from './operations.ts'
import { organizationRoutes } from './organizations.ts'
import { type PlanRoutesParts, planRoutes } from './plan.ts'
import { searchRoutes } from './search.ts'
import { searchEntityRoutes } from './search-entities.ts'
import { searchUserRoutes } from './search-users.ts'
import { taskOccurrencesRoutes } from './task-occurrences.ts'
import { type TaskRoutesParts, taskRoutes } from './tasks.ts'
import { type UserRoutesParts, userRoutes } from './users.ts'
import { type VerifyRoutesParts, verifyRoutes } from './verify.ts'
import { type WhyRoutesParts, whyRoutes } from './why.ts'

/** What the door itself needs. */
export interface DoorParts extends AuthenticationParts {
  readonly audit: Audit
}

/** What the routes need of the house, noun by noun. */
export interface NorthParts
  extends DoorParts,
    UserRoutesParts,
    EntityRoutesParts,
    BulkRoutesParts,
    JobRoutesParts,
    TaskRoutesParts,
    DeliveryRoutesParts,
    ConnectorFunctionRoutesParts,
    PlanRoutesParts,
    WhyRoutesParts,
    VerifyRoutesParts,
    LiveEventRoutesParts {
  readonly operationTypes: OperationTypes
}

/** Every noun that clients know. A new one is a line here. */
function nouns(app: FastifyInstance, parts: NorthParts): void {
  userRoutes(app, parts)
  organizationRoutes(app, parts)
  operationTypeRoutes(app, parts)
  connectorFunctionRoutes(app, parts)
  auditRoutes(app, parts)
  entityRoutes(app, parts)
  bulkRoutes(app, parts)
  devicePresenceRoutes(app, parts)
  jobRoutes(app, parts)
  liveEventRoutes(app, parts)
  planRoutes(app, parts)
  operationRoutes(app, parts)
  whyRoutes(app, parts)
  jobInsightRoutes(app, parts)
  verifyRoutes(app, parts)
  taskRoutes(app, parts)
  taskOccurrencesRoutes(app, parts)
  deliveryRoutes(app, parts)
  searchRoutes(app, parts)
  searchEntityRoutes(app, parts)
  searchUserRoutes(app, parts)
  dataModelRoutes(app, parts)
}

/** The address in the reference, and the one the interface writes its paths with; the same routes. */
const prefixes = ['/north/v80', '/v80'] as const

/**
 * Hangs a door into a server: the routes that `nouns` registers, behind the authentication, under both addresses.
 */
export function hangDoor(server: FastifyInstance, parts: DoorParts, nouns: (app: FastifyInstance) => void): void {
  for (const prefix of prefixes) {
    server.register(
      async app => {
        app.addHook('onRoute', route => {
          // The reference shows every route once.
          if (prefix !== prefixes[0]) route.schema = { ...route.schema, hide: true }
        })
        auditRequests(app, parts.audit)
        authenticate(app, parts)
        nouns(app)
      },
      { prefix },
    )
  }
}

/** The whole door for clients. Serves: Endpoints. */
export function registerNorth(server: FastifyInstance, parts: NorthParts): void {
  hangDoor(server, parts, app => nouns(app, parts))
}
