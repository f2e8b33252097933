/** What is there before anything happens in the model test: two operation types, devices of every flow, and their doubles elsewhere. */
import type { Caller } from '../../src/domain/caller.ts'
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
  await database.executeSql(
    `with other as (insert into organization (name, created_at) values ('other', $1) returning organization),
          types as (insert into operation_type (organization, name, applicable_to, created_at)
                    select o.organization, t.name, t.applicable_to, t.created_at from other o cross join operation_type t)
     insert into entity (partition, entity, organization, identifier, resource_type, document, tags, flow, created_at, updated_at)
     select e.partition, e.entity + 1000000, o.organization, e.identifier, e.resource_type, '{}', e.tags, e.flow, $1, $1
       from entity e cross join other o`,
    [EPOCH],
  )
  const [other] = await database.query<{ organization: number }>(
    sql`select organization from organization where name = 'other'`,
  )
  return { ...bench.caller, organization: other!.organization, organizationName: 'other' }
}
