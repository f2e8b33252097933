import { describe, expect, test } from 'vitest'
import { partitionOf } from '../../src/domain/identity.ts'
import { sql } from '../../src/store/statement.ts'
import { createTestDatabase } from '../database.ts'
import { ids, silent } from './scenario.ts'
import { createWorkbench, EPOCH, jobRequest } from './workbench.ts'

/** More than are looked at in a turn. */
const MANY = 600

/** A bench whose dispatcher is run turn by turn; answers the jobs that each turn sent for. */
async function dispatching(capacity: number, claimsByPartition = false) {
  const { database, close } = await createTestDatabase()
  const bench = await createWorkbench(database, { claimsByPartition })
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

/** A job of another organization, on devices of its own. */
async function jobOfAnother({ bench, database }: Awaited<ReturnType<typeof dispatching>>, count: number) {
  const [other] = await database.query<{ organization: number }>(sql`
    insert into organization (name, created_at) values ('other', ${EPOCH}) returning organization`)
  const { organization } = other!
  await database.query(sql`
    insert into operation_type (organization, name, applicable_to, created_at)
    values (${organization}, 'REBOOT_EQUIPMENT', '{entity.device}', ${EPOCH})`)
  const devices = ids('theirs', count)
  await database.query(sql`
    insert into entity (partition, entity, organization, identifier, resource_type, document, flow, created_at, updated_at)
    select i.partition, i.entity, ${organization}, i.identifier, 'entity.device', '{}', 'http', ${EPOCH}, ${EPOCH}
      from unnest(${devices.map(id => partitionOf(organization, id))}::smallint[],
                  ${devices.map(() => bench.nextNumber())}::bigint[], ${devices}::text[])
        as i(partition, entity, identifier)`)
  const request = jobRequest({ target: { append: { entities: devices } } })
  return (await bench.jobs.create({ ...bench.caller, organization }, request)).job
}

test('organizations share before their jobs do', async () => {
  const at = await dispatching(100)
  for (let i = 0; i < 9; i += 1) await at.create(`many-${i}`, 100)
  const theirs = await jobOfAnother(at, 100)
  expect((await at.turn()).get(theirs)).toBe(50)
  await at.close()
})

describe.each([
  ['of all partitions at once', false],
  ['by partition', true],
])('where claims are made %s', (_, byPartition) => {
  const spread = { stop: { delayed: 86_400_000 }, scattering: { maxSpread: 100 } }

  test('what jobs leave that have nothing to send is shared again, and organizations stay equal', async () => {
    const at = await dispatching(100, byPartition)
    for (let i = 0; i < 10; i += 1) await at.create(`spread-${i}`, 5, spread)
    // The first of each is due at once.
    await at.turn()
    const large = await at.create('large', 500)
    const tiny = []
    for (let i = 0; i < 10; i += 1) tiny.push(await at.create(`tiny-${i}`, 1))
    const theirs = await jobOfAnother(at, 500)
    for (const left of [40, 50]) {
      const counts = await at.turn()
      expect(counts.get(theirs)).toBe(50)
      expect(counts.get(large)).toBe(left)
      expect(tiny.filter(job => counts.has(job)).length).toBe(50 - left)
    }
    await at.close()
  })

  test('with one free slot at a time, jobs that have something to send take turns, however many have nothing', async () => {
    const at = await dispatching(1, byPartition)
    for (let i = 0; i < 5; i += 1) await at.create(`spread-${i}`, 5, spread)
    for (let i = 0; i < 5; i += 1) await at.turn()
    const live = [await at.create('one', 20), await at.create('other', 20)]
    const sent: bigint[] = []
    for (let i = 0; i < 6; i += 1) sent.push(...(await at.turn()).keys())
    expect(sent.length).toBe(6)
    for (const job of live) expect(sent.filter(each => each === job).length).toBe(3)
    await at.close()
  })

  test('jobs of one device are sent in the first turn beside a large one', async () => {
    const at = await dispatching(100, byPartition)
    const large = await at.create('large', 2_000)
    const single = []
    for (let i = 0; i < 20; i += 1) single.push(await at.create(`single-${i}`, 1))
    const counts = await at.turn()
    expect(single.filter(job => !counts.has(job))).toEqual([])
    expect(counts.get(large)).toBe(80)
    await at.close()
  })
})

test('an organization with more jobs than a turn looks at leaves another its half of every turn, and each of its jobs has its turn', async () => {
  const at = await dispatching(100)
  const first = await at.create('pattern', 1)
  const devices = ids('of-many', MANY)
  await at.bench.provision(devices)
  // The same job over and over, each on a device of its own: made one by one they would take a minute.
  await at.database.query(sql`
    with made as (
      insert into job select (jsonb_populate_record(j, jsonb_build_object('job', j.job - n))).*
        from job j cross join generate_series(1, ${MANY}::int) n where j.job = ${first}
      returning job
    ), counted as (
      insert into job_counter_delta (job, scheduled) select job, 1 from made
    ), operations as (
      insert into operation (job, partition, entity)
      select ${first}::bigint - row_number() over (order by e.entity), e.partition, e.entity
        from entity e where e.identifier = any(${devices}::text[])
      returning job, partition, entity
    )
    insert into operation_ready (job, place, partition, entity) select job, 1, partition, entity from operations`)
  await at.database.query(sql`update job set places = 2 where job < ${first}`)
  const theirs = await jobOfAnother(at, 5_000)
  const sent = new Set<bigint>()
  for (let turns = 0; sent.size < MANY + 2 && turns < 3 * (MANY / 50); turns += 1) {
    const counts = await at.turn()
    for (const job of counts.keys()) sent.add(job)
    expect(counts.get(theirs)).toBeGreaterThanOrEqual(50)
  }
  expect(sent.size).toBe(MANY + 2)
  await at.close()
})
