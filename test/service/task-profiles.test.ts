/** Who may run a type is asked when a job and a task are made, and again when the task's job starts. */
import { expect, test } from 'vitest'
import type { JobView } from '../../src/contract/job.ts'
import { openHouse } from './house.ts'

const house = await openHouse()
const { client } = house
const TYPES = '/north/v80/operationTypes/provision/organizations/drover'
const USERS = '/north/v80/provision/users'
/** Long enough for what happens between the making of a task and its start. */
const STARTS_IN_MS = 12_000

await house.provision('d1', { 'provision.device.operation.flow': 'pull' })

async function userOf(email: string, profile: string): Promise<string> {
  const user = { email, password: 'a good password', profile, domain: 'drover' }
  expect((await client.call('POST', USERS, { user })).status).toBe(201)
  return (await client.call<{ user: { apiKey: string } }>('GET', `${USERS}/${email}`)).body.user.apiKey
}

async function typeFor(name: string, profiles: string[]): Promise<void> {
  const type = { name, applicableTo: ['entity.device'], parameters: { type: 'object' }, profiles }
  expect((await client.call('POST', TYPES, type)).status).toBe(201)
}

const request = (name: string) => ({ name, target: { append: { entities: ['d1'] } } })

function createTask(name: string, key: string) {
  const start = { date: new Date(Date.now() + STARTS_IN_MS).toISOString() }
  const task = { active: true, schedule: { start, stop: { executions: 1 } }, job: { request: request(name) } }
  return client.call<{ task: { id: string } }>('POST', '/north/v80/operation/tasks', { task }, { 'x-apikey': key })
}

/** The task's job once it has started. */
async function started(task: string): Promise<JobView> {
  for (;;) {
    const { body } = await client.call<{ jobs: JobView[] }>('GET', `/north/v80/operation/tasks/${task}/jobs`)
    const job = body?.jobs?.find(({ report }) => report.execution.startedDate !== '')
    if (job) return job
  }
}

test('a type for others is refused to whoever makes a job or a task of it', async () => {
  await typeFor('FOR_ADMINS', ['admin'])
  const key = await userOf('advanced@drover.test', 'advanced')
  expect((await createTask('FOR_ADMINS', key)).status).toBe(403)
  const job = { request: { ...request('FOR_ADMINS'), active: true } }
  expect((await client.call('POST', '/north/v80/operation/jobs', { job }, { 'x-apikey': key })).status).toBe(403)
})

test('whose user or type has changed so that it may not run it any more ends with no operation; whose user is gone runs', async () => {
  for (const name of ['DEMOTED', 'NARROWED', 'GONE']) await typeFor(name, ['admin', 'admin_domain'])
  const keys = [
    await userOf('demoted@drover.test', 'admin'),
    await userOf('narrowed@drover.test', 'admin_domain'),
    await userOf('gone@drover.test', 'admin'),
  ] as const
  const demoted = await createTask('DEMOTED', keys[0])
  const narrowed = await createTask('NARROWED', keys[1])
  const gone = await createTask('GONE', keys[2])
  expect([demoted, narrowed, gone].map(({ status }) => status)).toEqual([201, 201, 201])

  const user = { profile: 'advanced' }
  expect((await client.call('PUT', `${USERS}/demoted@drover.test`, { user })).status).toBe(200)
  expect((await client.call('PUT', `${TYPES}/NARROWED`, { profiles: ['admin'] })).status).toBe(200)
  expect((await client.call('DELETE', `${USERS}/gone@drover.test`)).status).toBe(200)

  for (const { body } of [demoted, narrowed]) {
    expect((await started(body.task.id)).report.summary).toMatchObject({
      status: 'FINISHED_WITH_ERRORS',
      total: 0,
      errorCode: '0x020002',
    })
  }
  expect((await started(gone.body.task.id)).report.summary).toMatchObject({ status: 'IN_PROGRESS', total: 1 })
})
