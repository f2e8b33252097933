/** What commands that change something have changed: read afterwards from the service itself, by its interface and not by the command line. */
import { readFile, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import path from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import type { JobView, OperationTypeAnswer } from '../../src/contract/client/client.ts'
import type { DeliveriesPage } from '../../src/contract/delivery.ts'
import type { TaskView } from '../../src/contract/task.ts'
import { DEVICES, openHouse } from '../service/house.ts'
import { jobEnded, readJob } from '../service/jobs.ts'
import { notes } from '../south/parts.ts'
import { openCommandLine } from './command-line.ts'

const TYPES = '/north/v80/operationTypes/provision/organizations/drover'
const TASKS = '/north/v80/operation/tasks'
const JOBS = '/north/v80/operation/jobs'

const house = await openHouse()
const cli = await openCommandLine({ DROVER_URL: house.url, DROVER_API_KEY: house.apiKey })
await house.provision('meter-1')

/** Runs a command that must end well and say nothing beside its answer. */
async function drover(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await cli.run(args)
  expect([code, stderr], args.join(' ')).toEqual([0, ''])
  return stdout
}

describe('tasks', () => {
  const id = 'nightly'
  const taskOf = async (task: string) => (await house.call<{ task: TaskView }>('GET', `${TASKS}/${task}`)).body.task
  const jobsOf = async (task: string) =>
    (await house.call<{ jobs: JobView[] } | undefined>('GET', `${TASKS}/${task}/jobs`)).body?.jobs ?? []
  const create = (task: string) =>
    drover(
      ...['tasks', 'create', 'REFRESH_INFO', '-e', 'meter-1', '--id', task, '--name', 'By night', '--every', '6h'],
      ...['--first', '2099-03-02T02:30', '--utc', '--times', '5', '--timeout', '60s', '--stop', '1h'],
    )

  test('create makes the task as it was asked for, with its next job', async () => {
    await create(id)
    const { name, state, schedule, job } = await taskOf(id)
    expect([name, state]).toEqual(['By night', 'ACTIVE'])
    expect(schedule).toMatchObject({
      start: { date: '2099-03-02T02:30:00.000Z' },
      stop: { executions: 5 },
      repeating: { period: { each: 6, unit: 'HOURS' } },
    })
    expect(job.request).toMatchObject({
      name: 'REFRESH_INFO',
      target: { append: { entities: ['meter-1'] } },
      schedule: { stop: { delayed: 3_600_000 } },
      operationParameters: { timeout: 60_000 },
    })
    expect((await jobsOf(id)).map(each => each.report.summary.status)).toEqual(['SCHEDULED'])
  })

  test('pause holds the task and its next job, resume lets both go on, and several are taken at once', async () => {
    await create('weekly')
    const stands = async () => [
      (await taskOf(id)).state,
      (await taskOf('weekly')).state,
      ...(await jobsOf(id)).map(each => each.report.summary.status),
    ]
    await drover('tasks', 'pause', id, 'weekly')
    expect(await stands()).toEqual(['INACTIVE', 'INACTIVE', 'IDLE'])
    await drover('tasks', 'resume', id)
    expect(await stands()).toEqual(['ACTIVE', 'INACTIVE', 'SCHEDULED'])
  })

  test('delete ends the task, and its next job goes with it', async () => {
    const [next] = await jobsOf(id)
    await drover('tasks', 'delete', id)
    expect((await taskOf(id)).state).toBe('CANCELLED')
    expect((await house.call('GET', `${JOBS}/${next?.id}`)).status).toBe(404)
  })
})

describe('types', () => {
  const typeOf = (name: string) => house.call<OperationTypeAnswer>('GET', `${TYPES}/${name}`)

  test('create makes what stands in the file, and it can be run', async () => {
    const file = path.join(cli.home, 'blink.json')
    const parameters = { type: 'object', properties: { times: { type: 'integer', maximum: 3 } } }
    await writeFile(
      file,
      JSON.stringify({ name: 'BLINK', title: 'Blink', applicableTo: ['entity.device'], parameters }),
    )
    await drover('types', 'create', file)
    expect((await typeOf('BLINK')).body).toMatchObject({ name: 'BLINK', title: 'Blink', parameters })
    const run = ['jobs', 'run', 'BLINK', '-e', 'meter-1', '--timeout', '60s', '--inactive', '--json']
    const job = JSON.parse(await drover(...run, '-p', 'times=2')) as JobView
    expect((await readJob(house.client, job.id)).request.parameters).toEqual({ times: 2 })
    expect((await cli.run([...run, '-p', 'times=4'])).code).toBe(4)
  })

  test('clone makes a type of the catalog under another name, for those who may run it', async () => {
    const names = ['REBOOT_EQUIPMENT', 'REBOOT_AT_NIGHT']
    await drover('types', 'clone', ...names, '--title', 'Reboot at night', '--profiles', 'admin,root')
    const { body } = await typeOf('REBOOT_AT_NIGHT')
    expect(body).toMatchObject({
      title: 'Reboot at night',
      fromCatalog: 'REBOOT_EQUIPMENT',
      profiles: ['admin', 'root'],
    })
    expect(body.parameters).toEqual((await typeOf('REBOOT_EQUIPMENT')).body.parameters)
  })

  test('delete removes the type, and cancels the jobs and tasks of it', async () => {
    const later = ['-e', 'meter-1', '--start', '10m', '--timeout', '60s', '--json']
    const job = JSON.parse(await drover('jobs', 'run', 'BLINK', ...later)) as JobView
    await drover('tasks', 'create', 'BLINK', '-e', 'meter-1', '--id', 'blinking', '--every', '1h', '--timeout', '60s')
    await drover('types', 'delete', 'BLINK')
    expect((await typeOf('BLINK')).status).toBe(404)
    expect((await house.until(job.id, each => each.status === 'CANCELLED')).result).toBe('CANCELLED_INTERNAL')
    const state = async () => (await house.call<{ task: TaskView }>('GET', `${TASKS}/blinking`)).body.task.state
    await expect.poll(state).toBe('CANCELLED')
  })
})

describe('jobs', () => {
  const statusOf = async (job: string) => (await readJob(house.client, job)).report.summary.status

  test('run makes the job, pause holds it, resume lets it go on, and cancel ends it with its operations', async () => {
    const run = ['jobs', 'run', 'REFRESH_INFO', '-e', 'meter-1', '--timeout', '60s', '--spread', '100', '--stop', '2h']
    const id = (await cli.run(run)).stdout.trim()
    await expect.poll(() => statusOf(id)).toBe('IN_PROGRESS')
    await drover('jobs', 'pause', id)
    expect(await statusOf(id)).toBe('PAUSED')
    await drover('jobs', 'resume', id)
    expect(await statusOf(id)).toBe('IN_PROGRESS')
    await drover('jobs', 'cancel', id)
    const { report } = await jobEnded(house.client, id)
    expect(report.summary).toMatchObject({ status: 'CANCELLED', finished: { cancelled: { byUser: 1 } } })
  })

  test('plan makes no job', async () => {
    const count = async () =>
      (await house.call<{ summary: { count: number } }>('POST', '/north/v80/search/jobs/summary', { filter: {} })).body
    const before = await count()
    await drover('jobs', 'plan', 'REFRESH_INFO', '-e', 'meter-1', '--timeout', '60s')
    expect(await count()).toEqual(before)
  })
})

test('devices import provisions what stands in the file', async () => {
  const file = path.join(cli.home, 'devices.csv')
  await writeFile(file, 'provision.device.identifier;provision.device.name\nnew-1;First\nnew-2;Second\n')
  const keys = path.join(cli.home, 'keys.csv')
  await drover('devices', 'import', file, '--keys', keys)
  for (const [id, name] of Object.entries({ 'new-1': 'First', 'new-2': 'Second' })) {
    const { status, body } = await house.call('GET', `${DEVICES}/${id}?flattened=true`)
    expect([status, JSON.stringify(body)]).toEqual([200, expect.stringContaining(name)])
    const [, key = ''] = new RegExp(`^${id};(.+)$`, 'm').exec(await readFile(keys, 'utf8')) ?? []
    expect((await house.south(id, key, 'operation/pending')).status).toBe(204)
  }
})

test('deliveries repeat tells the receiver the same once more, and the log counts it', async () => {
  const heard = notes<string>()
  const receiver = createServer((request, reply) => {
    request.resume().on('end', () => {
      reply.writeHead(204).end()
      heard.add(String(request.headers['webhook-id']))
    })
  })
  await new Promise<void>(resolve => receiver.listen(0, '127.0.0.1', resolve))
  afterAll(() => {
    receiver.closeAllConnections()
    receiver.close()
  })
  const callback = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/told`
  const run = ['jobs', 'run', 'REFRESH_INFO', '-e', 'meter-1', '--timeout', '60s', '--inactive', '--callback', callback]
  const id = (await cli.run(run)).stdout.trim()
  await drover('jobs', 'cancel', id)
  const log = async () =>
    (await house.call<DeliveriesPage | undefined>('GET', `/north/v80/deliveries?job=${id}`)).body?.deliveries ?? []
  await expect.poll(async () => (await log()).map(each => each.state)).toEqual(['DELIVERED'])
  const [delivery] = await log()
  await drover('deliveries', 'repeat', delivery?.id ?? '')
  await expect.poll(async () => (await log()).map(each => [each.state, each.attempts])).toEqual([['DELIVERED', 2]])
  expect(heard.all).toEqual([delivery?.id, delivery?.id])
})
