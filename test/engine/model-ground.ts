/** What is there before anything happens in the model test: two operation types, devices of every flow, and their doubles elsewhere. */
import type { Caller } from '../../src/domain/caller.ts'
import { readEntityForm } from '../../src/domain/entity-form.ts'
import { closeEntities, drainEntities } from '../../src/engine/closing.ts'
import type { Database } from '../../src/store/database.ts'
import { sql } from '../../src/store/statement.ts'
import { testEntities } from '../entity-rows.ts'
import { ids } from './scenario.ts'
import { EPOCH, type Workbench } from './workbench.ts'

export type Flow = 'http' | 'mqtt' | 'pull' | 'function'
export type Fleet = Readonly<Record<Flow, number>>

/** The operation types, of which each applies to every device. */
export const NAMES = ['REBOOT_EQUIPMENT', 'REFRESH_INFO'] as const
const FLOWS = ['http', 'mqtt', 'pull', 'function'] as const
/** What the strategy of a scattering groups devices by; null for none. */
const CELLS = ['cell a', 'cell b', null]

/** A device as it is provisioned now. */
export interface LivingDevice {
  readonly identifier: string
  readonly partition: number
  readonly entity: bigint
  readonly tags: readonly string[]
  readonly cell: string | null
}

/** The flow of each device, in the order of the devices. */
export function flowsOf(fleet: Fleet): ReadonlyMap<string, Flow> {
  return new Map(FLOWS.flatMap(flow => ids(flow, fleet[flow]).map(id => [id, flow] as const)))
}

/** The tags under which a device is provisioned: that of all, that of its flow, and one that it has only now and then. */
export const tagsOf = (flow: Flow, odd: boolean): string[] => ['all', flow, ...(odd ? ['odd'] : [])]

/** Devices as the service provisions and deletes them, for an organization, by a process. */
export function entitiesOf(bench: Workbench) {
  const entities = testEntities(bench.database, {
    clock: bench.clock,
    nextNumber: bench.nextNumber,
    closeEntities,
    drainEntities,
  })
  return {
    async provision(owner: Caller, devices: readonly { identifier: string; flow: Flow; tags: readonly string[] }[]) {
      const outcomes = await entities.write(
        owner,
        'CREATE',
        devices.map(({ identifier, flow, tags }) => {
          const said = readEntityForm(
            {
              'provision.device.identifier': identifier,
              'provision.device.operation.flow': flow === 'function' ? 'function:meter' : flow,
              'provision.administration.tags': tags,
            },
            true,
          )
          if (!said.ok) throw new Error(JSON.stringify(said.problems))
          return { said: said.value }
        }),
      )
      for (const outcome of outcomes) if (!outcome.ok) throw outcome.error
    },
    async remove(owner: Caller, identifier: string) {
      const [outcome] = await entities.write(owner, 'DELETE', [{ said: new Map(), identifier }])
      if (!outcome!.ok) throw outcome!.error
    },
  }
}

/** The devices of an organization as they are stored. */
export async function livingDevices(
  database: Database,
  organization: number,
): Promise<ReadonlyMap<string, LivingDevice>> {
  const rows = await database.query<LivingDevice>(
    sql`select identifier, partition, entity, tags, cell_info as cell from entity where organization = ${organization}`,
  )
  return new Map(rows.map(row => [row.identifier, row]))
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
  const [other] = await database.query<{ organization: number }>(
    sql`insert into organization (name, created_at) values ('other', ${EPOCH}) returning organization`,
  )
  const { organization } = other!
  await database.query(sql`
    insert into operation_type (organization, name, applicable_to, created_at)
    select ${organization}, name, applicable_to, created_at from operation_type where organization = ${bench.caller.organization}`)
  const stranger: Caller = { ...bench.caller, organization, organizationName: 'other' }
  const devices = [...flows].map(([identifier, flow], i) => ({ identifier, flow, tags: tagsOf(flow, i % 2 === 1) }))
  const entities = entitiesOf(bench)
  for (const owner of [bench.caller, stranger]) await entities.provision(owner, devices)
  const cells = [...flows.keys()].map((_, i) => CELLS[i % CELLS.length]!)
  await database.query(sql`
    update entity e set cell_info = i.cell
      from unnest(${[...flows.keys()]}::text[], ${cells}::text[]) as i(identifier, cell) where e.identifier = i.identifier`)
  return stranger
}
