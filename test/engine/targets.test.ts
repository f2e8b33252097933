import { expect, test } from 'vitest'
import { testDatabase } from '../database.ts'
import { ids, obedient, operationOf, summaryOfJob } from './scenario.ts'
import { createWorkbench, EPOCH, jobRequest } from './workbench.ts'

const { database } = await testDatabase()
const bench = await createWorkbench(database)
const { jobs, caller } = bench
bench.device = obedient()

/** An entity that the type of these tests does not apply to. */
async function provisionAsset(identifier: string, tags: string[] = []) {
  await bench.provision([identifier], { tags })
  await database.executeSql(`update entity set resource_type = 'entity.asset' where identifier = $1`, [identifier])
}

test('a tag is resolved after the creation, the job starts then, and what it cannot run on is reported', async () => {
  await bench.provision(ids('tagged', 30), { tags: ['north'] })
  await provisionAsset('tagged-asset', ['north'])
  const job = await jobs.create(caller, jobRequest({ target: { append: { tags: ['north'] } } }))
  expect(job).toMatchObject({ status: 'SCHEDULED', startedAt: null, counters: { scheduled: 0 } })
  await bench.settle()
  expect(await summaryOfJob(bench, job.job)).toMatchObject({
    status: 'FINISHED',
    total: 30,
    refused: { notAllowed: ['tagged-asset'] },
  })
})

test('a tag of an inactive job is resolved, too, and the job waits in IDLE', async () => {
  const { job } = await jobs.create(caller, jobRequest({ active: false, target: { append: { tags: ['north'] } } }))
  await bench.settle()
  expect(await summaryOfJob(bench, job)).toMatchObject({ status: 'IDLE', total: 30, unresolved: [] })
  await bench.provision(['tagged-later'], { tags: ['north'] })
  await jobs.change(caller, job, { active: true })
  await bench.settle()
  expect(await summaryOfJob(bench, job)).toMatchObject({ status: 'FINISHED', total: 30 })
})

test('what is taken out while a tag is still to be resolved stays out, listed or by another tag, and can be put in again', async () => {
  await bench.provision(ids('east', 10), { tags: ['east'] })
  await bench.provision(['both'], { tags: ['east', 'spare'] })
  const { job } = await jobs.create(caller, jobRequest({ active: false, target: { append: { tags: ['east'] } } }))
  await jobs.change(caller, job, { target: { remove: { entities: ['east-1', 'east-2'] } } })
  await jobs.change(caller, job, { target: { remove: { tags: ['spare'] } } })
  await jobs.change(caller, job, { target: { append: { entities: ['east-2'] } } })
  await bench.settle()
  expect(await summaryOfJob(bench, job)).toMatchObject({ status: 'IDLE', total: 9, unresolved: [] })
})

test('a target in which nothing can run ends the job at once, with its code and both notifications', async () => {
  bench.told.length = 0
  const { job } = await jobs.create(caller, jobRequest({ target: { append: { tags: ['nobody'] } } }))
  await bench.settle()
  expect(await summaryOfJob(bench, job)).toMatchObject({
    status: 'FINISHED_WITH_ERRORS',
    total: 0,
    errorCode: '0x020002',
    startedAt: EPOCH,
    finishedAt: EPOCH,
  })
  expect(bench.told).toEqual([
    { kind: 'started', job, status: 'IN_PROGRESS' },
    { kind: 'finished', job, status: 'FINISHED_WITH_ERRORS' },
  ])
})

test('a list is judged at the creation: what is refused is reported, gets no operation and makes no error', async () => {
  await bench.provision(['listed-1', 'listed-2'])
  await provisionAsset('listed-asset')
  const entities = ['listed-1', 'unheard-of', 'listed-2', 'listed-asset', 'listed-1']
  const { job, refused } = await jobs.create(caller, jobRequest({ target: { append: { entities } } }))
  expect(refused).toEqual({
    notProvisioned: ['unheard-of'],
    notAllowed: ['listed-asset'],
    duplicated: ['listed-1'],
  })
  await bench.settle()
  expect(await summaryOfJob(bench, job)).toMatchObject({ status: 'FINISHED', total: 2, refused })
})

test('an id that a PUT adds is judged anew, and one that it takes out is reported no more', async () => {
  await bench.provision(['there'])
  const entities = ['there', 'coming', 'staying-away', 'given-up']
  const { job } = await jobs.create(caller, jobRequest({ active: false, target: { append: { entities } } }))
  await bench.provision(['coming'])
  await provisionAsset('staying-away')
  const again = await jobs.change(caller, job, { target: { append: { entities: ['coming', 'staying-away'] } } })
  expect(again).toMatchObject({ counters: { scheduled: 2 } })
  expect(again.refused).toEqual({ notProvisioned: ['given-up'], notAllowed: ['staying-away'] })
  const without = await jobs.change(caller, job, { target: { remove: { entities: ['given-up', 'staying-away'] } } })
  expect(without.refused).toEqual({})
})

test('a list in which nothing is usable is refused', async () => {
  const request = jobRequest({ target: { append: { entities: ['unheard-of'] } } })
  await expect(jobs.create(caller, request)).rejects.toMatchObject({ entry: { code: '0x020002' } })
})

test('a target larger than one list is built by PUTs on an inactive job, and started by the last', async () => {
  const devices = ids('batch', 250)
  await bench.provision(devices)
  const { job } = await jobs.create(
    caller,
    jobRequest({ active: false, target: { append: { entities: devices.slice(0, 100) } } }),
  )
  await jobs.change(caller, job, { target: { append: { entities: devices.slice(100, 200) } } })
  await jobs.change(caller, job, { target: { append: { entities: ['unheard-of', 'batch-7'] } } })
  await jobs.change(caller, job, { target: { remove: { entities: devices.slice(0, 50) } } })
  const last = await jobs.change(caller, job, {
    target: { append: { entities: devices.slice(200) } },
    active: true,
  })
  expect(last).toMatchObject({
    status: 'IN_PROGRESS',
    refused: { notProvisioned: ['unheard-of'], duplicated: ['batch-7'] },
  })
  await bench.settle()
  expect(await summaryOfJob(bench, job)).toMatchObject({ status: 'FINISHED', total: 200 })
})

test('of one PUT what is taken out goes first, so that what is in both is in the job', async () => {
  await bench.provision(['swap-1', 'swap-2'])
  const { job } = await jobs.create(
    caller,
    jobRequest({ active: false, target: { append: { entities: ['swap-1', 'swap-2'] } } }),
  )
  const changed = await jobs.change(caller, job, {
    target: { append: { entities: ['swap-1'] }, remove: { entities: ['swap-1', 'swap-2'] } },
  })
  expect(changed).toMatchObject({ counters: { scheduled: 1 }, refused: {} })
})

test('an inactive job may have no target yet, but cannot be activated without one', async () => {
  const { job } = await jobs.create(caller, jobRequest({ active: false, target: {} }))
  await expect(jobs.change(caller, job, { active: true })).rejects.toMatchObject({ entry: { code: '0x020002' } })
  expect(await summaryOfJob(bench, job)).toMatchObject({ status: 'IDLE', total: 0 })
})

test('entities may have parameters of their own, and have those of the request where they have none', async () => {
  await bench.provision(['own-1', 'own-2', 'own-3'])
  bench.sent.length = 0
  await jobs.create(
    caller,
    jobRequest({
      parameters: { type: 'HARDWARE' },
      target: {
        append: {
          entities: ['own-1'],
          entitiesWithParameters: [{ id: 'own-2', parameters: { type: 'SOFTWARE' } }, { id: 'own-3' }],
        },
      },
    }),
  )
  await bench.settle()
  const parameters = new Map(bench.sent.map(request => [request.device.deviceId, request.parameters.type]))
  expect(parameters).toEqual(
    new Map([
      ['own-1', 'HARDWARE'],
      ['own-2', 'SOFTWARE'],
      ['own-3', 'HARDWARE'],
    ]),
  )
})

test('an entity is judged again at launch: what is not allowed any more ends NOT_ALLOWED', async () => {
  await bench.provision(['changing', 'staying'])
  const { job } = await jobs.create(
    caller,
    jobRequest({
      schedule: { start: { delayed: 60_000 } },
      target: { append: { entities: ['changing', 'staying'] } },
    }),
  )
  await database.executeSql(`update entity set resource_type = 'entity.asset' where identifier = 'changing'`)
  await bench.advance(60_000)
  expect(await operationOf(bench, job, 'changing')).toMatchObject({ status: 'NOT_ALLOWED', result: 'NOT_ALLOWED' })
  expect(await summaryOfJob(bench, job)).toMatchObject({
    status: 'FINISHED_WITH_ERRORS',
    finished: { successful: 1, error: 1 },
    errorDescription: 'NOT_ALLOWED: 1',
  })
})
