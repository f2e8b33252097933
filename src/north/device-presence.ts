/** The routes that tell where devices are: one device's connection, and how many are connected. They only read. */
import type { FastifyInstance } from 'fastify'
import './request-caller.ts'
import { Type } from 'typebox'
import { ConnectedCount, ConnectionView } from '../contract/device-presence.ts'
import { partitionOf } from '../domain/identity.ts'
import { dateText } from '../domain/job-report.ts'
import { notExists } from '../engine/entities.ts'
import type { Database } from '../store/database.ts'
import { countDevices, readDevicePresence } from '../store/device-presence.ts'

export interface DevicePresenceParts {
  readonly database: Database
  readonly now: () => Date
}

const tags = ['entities']
const LATELY_MS = 300_000
/** Counting a large fleet costs; those who ask meanwhile are told the same. */
const REMEMBERED_MS = 3_000

/** Registers the routes. */
export function devicePresenceRoutes(app: FastifyInstance, { database, now }: DevicePresenceParts): void {
  const remembered = new Map<number, { readonly at: number; readonly count: Promise<ConnectedCount> }>()

  function counted(organization: number): Promise<ConnectedCount> {
    const date = now()
    const known = remembered.get(organization)
    if (known && date.getTime() - known.at < REMEMBERED_MS) return known.count
    const since = new Date(date.getTime() - LATELY_MS)
    const count = countDevices(database, organization, since).then(each => ({ date: date.toISOString(), ...each }))
    remembered.set(organization, { at: date.getTime(), count })
    count.catch(() => remembered.delete(organization))
    return count
  }

  app.get(
    '/provision/organizations/:organization/connectedDevices',
    {
      schema: {
        tags,
        summary: 'How many devices there are, and how many are connected',
        params: Type.Object({ organization: Type.String() }),
        response: { 200: ConnectedCount },
      },
    },
    request => counted(request.caller.organization),
  )

  app.get(
    '/provision/organizations/:organization/devices/:identifier/connection',
    {
      schema: {
        tags,
        summary: 'What is known of the connection of a device',
        params: Type.Object({ organization: Type.String(), identifier: Type.String() }),
        response: { 200: ConnectionView },
      },
    },
    async (request): Promise<ConnectionView> => {
      const { organization } = request.caller
      const { identifier } = request.params as { identifier: string }
      const found = await readDevicePresence(database, partitionOf(organization, identifier), organization, identifier)
      if (!found) throw notExists(identifier)
      return {
        connected: found.connected,
        connectedDate: dateText(found.connectedAt),
        disconnectedDate: dateText(found.disconnectedAt),
        seenDate: dateText(found.seenAt),
      }
    },
  )
}
