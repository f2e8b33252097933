/** What tests of provisioning say over and over: entities in the flattened form, written as by a client, and the columns made of them. */
import { readEntityForm, type SaidValues } from '../../src/domain/entity-form.ts'
import type { Entities, EntityAction, EntityOutcome, EntityOwner } from '../../src/engine/entities.ts'
import type { Database } from '../../src/store/database.ts'
import { sql } from '../../src/store/statement.ts'

export const device = (identifier: string, more: Record<string, unknown> = {}) => ({
  'provision.device.identifier': identifier,
  ...more,
})
export const SUBSCRIPTION = 'provision.device.communicationModules[].subscription.identifier'
export const ADDRESS = 'provision.device.communicationModules[].subscription.address'
export const subscription = (identifier: string, more: Record<string, unknown> = {}) => ({
  [SUBSCRIPTION]: identifier,
  ...more,
})

export function said(body: Record<string, unknown>): SaidValues {
  const read = readEntityForm(body, true)
  if (!read.ok) throw new Error(JSON.stringify(read.problems))
  return read.value
}

export const writerOf =
  (entities: Entities, owner: EntityOwner) =>
  (action: EntityAction, ...bodies: Record<string, unknown>[]): Promise<EntityOutcome[]> =>
    entities.write(
      owner,
      action,
      bodies.map(body => ({ said: said(body) })),
    )

interface Columns {
  tags: string[]
  model: string | null
  flow: string | null
  url: string | null
  address: string | null
  as: string
  carrier: string | null
}

/** An entity as its columns say it, with the device that carries it. */
export const columnsOf =
  (database: Database, { organization }: EntityOwner) =>
  async (identifier: string): Promise<Columns> => {
    const [row] = await database.query<Columns>(
      sql`select e.tags, e.model, e.flow, e.url, e.address, e.parameters_as as "as", d.identifier as carrier
            from entity e left join entity d on d.partition = e.device_partition and d.entity = e.device
           where e.organization = ${organization} and e.identifier = ${identifier}`,
    )
    return row!
  }
