import { expect, test } from 'vitest'
import { partitionOf } from '../../src/domain/identity.ts'
import { sql } from '../../src/store/statement.ts'
import { createTestDatabase } from '../database.ts'
import { ids, silent } from './scenario.ts'
import { createWorkbench, EPOCH, jobRequest } from './workbench.ts'

/** A bench whose dispatcher is run turn by turn; answers the jobs that each turn sent for. */
async function dispatching(capacity: number) {
  const { database, close } = await createTestDatabase()
  const bench = await createWorkbench(database)
  bench.device = silent
  bench.capacity = capacity
  const create = async (prefix: string, count: number, schedule: object = {}) => {
    const devices = ids(prefix, count)
    await bench.provision(devices)
    return (await bench.jobs.create(bench.caller, jobRequest({ schedule, target: { append: { entities: devices } } })))
      .job
  }
  const turn = async () => {
    bench.sent.length = 0
    await bench.engine.loops.get('operation-dispatcher')!.runOnce(bench.clock.now())
    const counts = new Map<bigint, number>()
    for (const { key } of bench.sent) counts.set(key.job, (counts.get(key.job) ?? 0) + 1)
    return counts
  }
  return { bench, database, create, turn, close }
}

test('with one free slot at a time, every job has its turn', async () => {
  const { create, turn, close } = await dispatching(1)
  const all = [await create('a', 50), await create('b', 50), await create('c', 1)]
  const served = new Set<bigint>()
  for (let i = 0; i < 4; i += 1) for (const job of (await turn()).keys()) served.add(job)
  expect(served).toEqual(new Set(all))
  await close()
})

test('slots that a job does not use go to whoever has more', async () => {
  const { create, turn, close } = await dispatching(100)
  const spread = { stop: { delayed: 86_400_000 }, scattering: { maxSpread: 100 } }
  for (let i = 0; i < 20; i += 1) await create(`spread-${i}`, 10, spread)
  await turn()
  const large = await create('large', 500)
  expect((await turn()).get(large)).toBe(100)
  await close()
})

test('no more is claimed than can be sent, also where a job has retries, overdue and new places', async () => {
  const { bench, database, create, turn, close } = await dispatching(20)
  const job = await create('lanes', 200)
  await database.query(sql`
    update job set places = 200, overdue_from = 1, overdue_places = 100, overdue_at = ${EPOCH} where job = ${job}`)
  await database.query(sql`
    update operation_ready set place = 0 where ctid in (select ctid from operation_ready where place > 50 limit 60)`)
  expect((await turn()).get(job)).toBe(20)
  bench.capacity = 500
  expect((await turn()).get(job)).toBe(180)
  await close()
})

test('organizations share before their jobs do', async () => {
  const { bench, database, create, turn, close } = await dispatching(100)
  for (let i = 0; i < 9; i += 1) await create(`many-${i}`, 100)

  const [other] = await database.query<{ organization: number }>(sql`
    insert into organization (name, created_at) values ('other', ${EPOCH}) returning organization`)
  const { organization } = other!
  await database.query(sql`
    insert into operation_type (organization, name, applicable_to, created_at)
    values (${organization}, 'REBOOT_EQUIPMENT', '{entity.device}', ${EPOCH})`)
  const devices = ids('theirs', 100)
  await database.query(sql`
    insert into entity (partition, entity, organization, identifier, resource_type, document, flow, created_at, updated_at)
    select i.partition, i.entity, ${organization}, i.identifier, 'entity.device', '{}', 'http', ${EPOCH}, ${EPOCH}
      from unnest(${devices.map(id => partitionOf(organization, id))}::smallint[],
                  ${devices.map(() => bench.nextNumber())}::bigint[], ${devices}::text[])
        as i(partition, entity, identifier)`)
  const theirs = await bench.jobs.create(
    { ...bench.caller, organization },
    jobRequest({ target: { append: { entities: devices } } }),
  )
  expect((await turn()).get(theirs.job)).toBe(50)
  await close()
})
