import { expect, test } from 'vitest'
import type { Profile } from '../../src/domain/caller.ts'
import { jobId } from '../../src/domain/identity.ts'
import { createVerify } from '../../src/engine/verify.ts'
import { verifyRoutes } from '../../src/north/verify.ts'
import { testDatabase } from '../database.ts'
import { createWorkbench, jobRequest } from '../engine/workbench.ts'
import { openDoor } from './door.ts'

const { database } = await testDatabase()
const bench = await createWorkbench(database)
const verification = createVerify({ database })
const doorOf = (profile: Profile) => openDoor({ ...bench.caller, profile }, app => verifyRoutes(app, { verification }))
const door = doorOf('admin')
await bench.provision(['d'])

test('GET /operation/verify answers administrators with what is wrong, and where to go on', async () => {
  const target = { append: { entities: ['d'] } }
  const { job } = await bench.jobs.create(bench.caller, jobRequest({ target, active: false }))
  await bench.jobs.create(bench.caller, jobRequest({ target, active: false }))
  expect((await door.ask('GET', '/operation/verify')).body).toEqual({ jobs: 2, differences: [] })
  expect((await door.ask('GET', '/operation/verify?size=1')).body).toEqual({
    jobs: 1,
    differences: [],
    next: jobId(job),
  })
  expect((await door.ask('GET', `/operation/verify?after=${jobId(job)}`)).body).toEqual({ jobs: 1, differences: [] })
  expect((await door.ask('GET', '/operation/verify?after=x')).status).toBe(400)
  expect((await doorOf('advanced').ask('GET', '/operation/verify')).status).toBe(403)
})
