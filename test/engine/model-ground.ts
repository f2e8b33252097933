/** What is there before anything happens in the model test: two operation types, devices of every flow, and their doubles elsewhere. */
import type { Caller } from '../../src/domain/caller.ts'
import { partitionOf } from '../../src/domain/identity.ts'
import type { Database } from '../../src/store/database.ts'
import { sql } from '../../src/store/statement.ts'
import { ids } from './scenario.ts'
import { EPOCH, type Workbench } from './workbench.ts'

export type Flow = 'http' | 'mqtt' | 'pull'
export type Fleet = Readonly<Record<Flow, number>>

/** The operation types, of which each applies to every device. */
export const NAMES = ['REBOOT_EQUIPMENT', 'REFRESH_INFO'] as const
const FLOWS = ['http', 'mqtt', 'pull'] as const

/** The flow of each device, in the order of the devices. */
export function flowsOf(fleet: Fleet): ReadonlyMap<string, Flow> {
  return new Map(FLOWS.flatMap(flow => ids(flow, fleet[flow]).map(id => [id, flow] as const)))
}

/** Provisions the devices; answers a stranger, who has the same devices and tags in an organization of his own. */
export async function layGround(
  database: Database,
  bench: Workbench,
  flows: ReadonlyMap<string, Flow>,
): Promise<Caller> {
  await database.executeSql(
    `insert into operation_type (organization, name, applicable_to, created_at)
     select organization, $1, '{entity.device}', $2 from organization`,
    [NAMES[1], EPOCH],
  )
  for (const flow of FLOWS) {
    const all = [...flows.keys()].filter(id => flows.get(id) === flow)
    if (all.length > 0) await bench.provision(all, { flow, tags: ['all', flow] })
  }
  const [other] = await database.query<{ organization: number }>(
    sql`insert into organization (name, created_at) values ('other', ${EPOCH}) returning organization`,
  )
  const { organization } = other!
  await database.query(sql`
    insert into operation_type (organization, name, applicable_to, created_at)
    select ${organization}, name, applicable_to, created_at from operation_type where organization = ${bench.caller.organization}`)
  const identifiers = [...flows.keys()]
  await database.query(sql`
    insert into entity (partition, entity, organization, identifier, resource_type, document, tags, flow, created_at, updated_at)
    select i.partition, e.entity + 1000000, ${organization}, e.identifier, e.resource_type, '{}', e.tags, e.flow, e.created_at, e.updated_at
      from entity e join unnest(${identifiers.map(id => partitionOf(organization, id))}::smallint[], ${identifiers}::text[])
             as i(partition, identifier) on i.identifier = e.identifier`)
  return { ...bench.caller, organization, organizationName: 'other' }
}
