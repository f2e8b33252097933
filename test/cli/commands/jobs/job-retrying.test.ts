/** `drover jobs retry`: which entities it takes, what it keeps of the first job, and what it says of both. */
import { expect, test } from 'vitest'
import type { JobView, PlanView } from '../../../../src/contract/client/client.ts'
import { openHouse, response } from '../../../service/house.ts'
import { createJob, jobEnded, readJob, readOperations } from '../../../service/jobs.ts'
import { openCommandLine } from '../../command-line.ts'

const house = await openHouse()
const cli = await openCommandLine({ DROVER_URL: house.url, DROVER_API_KEY: house.apiKey })
const key = await house.provision('broken')
await house.provision('away')
const retry = (...args: string[]) => cli.run(['jobs', 'retry', ...args])

/** A job in which one device fails and the other is called off. */
async function halfDone(): Promise<string> {
  const { id } = await createJob(house.client, {
    name: 'REBOOT_EQUIPMENT',
    parameters: { type: 'SOFTWARE' },
    target: { append: { entities: ['broken', 'away'] } },
    schedule: { stop: { delayed: 7_200_000 } },
    operationParameters: { timeout: 3_600_000, retries: 2 },
  })
  const asked = await house.south<{ operation: { request: { id: string } } }>(
    'broken',
    key,
    'operation/pending?wait=30',
  )
  const answer = response(asked.body.operation.request.id, { resultCode: 'ERROR_PROCESSING', steps: [] })
  await house.south('broken', key, 'operation/response', answer)
  await house.call('DELETE', `/north/v80/operation/jobs/${id}`)
  await jobEnded(house.client, id)
  return id
}
const first = await halfDone()

async function entitiesOf(job: string): Promise<string[]> {
  await expect.poll(async () => (await readJob(house.client, job)).report.summary.total).toBeGreaterThan(0)
  return (await readOperations(house.client, job)).map(each => each.entityId).sort()
}

test('what failed is run again as it was, what was cancelled is left, and both are said with their numbers', async () => {
  const { code, stdout, stderr } = await retry(first)
  expect(code).toBe(0)
  expect(stderr).toContain(`Of job ${first} again: 1 failed. Left as they are: 1 cancelled (--of).\n`)
  const made = stdout.trim()
  expect(await entitiesOf(made)).toEqual(['broken'])
  const { request } = await readJob(house.client, made)
  expect(request).toMatchObject({
    parameters: { type: 'SOFTWARE' },
    schedule: { stop: { delayed: 7_200_000 } },
    operationParameters: { timeout: 3_600_000, retries: 2 },
    userNotes: expect.stringContaining(first),
  })
  await cli.run(['jobs', 'cancel', made])
})

test('what was cancelled is run again when told, with what the options change, and not before it is activated', async () => {
  const { code, stdout } = await retry(first, '--of', 'cancelled', '--timeout', '5m', '--notes', 'by day', '--inactive')
  expect(code).toBe(0)
  const made = stdout.trim()
  expect(await entitiesOf(made)).toEqual(['away'])
  const { request, report } = await readJob(house.client, made)
  expect(report.summary.status).toBe('IDLE')
  expect(request).toMatchObject({ operationParameters: { timeout: 300_000, retries: 2 }, userNotes: 'by day' })
})

test('--plan says what it would do and makes no job; --json is for programs', async () => {
  const jobs = async () => JSON.parse((await cli.run(['jobs', 'list', '--json'])).stdout) as JobView[]
  const before = (await jobs()).length
  const { code, stdout, stderr } = await retry(first, '--of', 'failed,cancelled', '--plan', '--json')
  expect([code, stderr]).toEqual([0, ''])
  expect((JSON.parse(stdout) as PlanView).target.total).toBe(2)
  expect(await jobs()).toHaveLength(before)
})

test('an option changes what it says and nothing beside it: what was spread stays spread', async () => {
  const target = { append: { entities: ['away'] } }
  const schedule = { stop: { delayed: 7_200_000 }, scattering: { maxSpread: 80 } }
  const { id } = await createJob(house.client, { name: 'REFRESH_INFO', target, schedule, active: false })
  await house.call('DELETE', `/north/v80/operation/jobs/${id}`)
  const { stdout } = await retry(id, '--of', 'cancelled', '--warn-rate', '5', '--inactive')
  const { request } = await readJob(house.client, stdout.trim())
  expect(request.schedule).toMatchObject({ ...schedule, scattering: { maxSpread: 80, warningMaxRate: 5 } })
})

test('a rate that stands with the strategy can be changed, and outlives another strategy', async () => {
  const target = { append: { entities: ['away'] } }
  const strategy = { field: 'subscription.collected.cellInfo' as const, factor: 50, warningMaxRate: 10 }
  const request = { name: 'REFRESH_INFO', target, schedule: { stop: { delayed: 7_200_000 }, scattering: { strategy } } }
  const { id } = await createJob(house.client, { ...request, active: false })
  await house.call('DELETE', `/north/v80/operation/jobs/${id}`)
  const scheduleWith = async (...options: string[]) => {
    const { stdout, stderr } = await retry(id, '--of', 'cancelled', '--inactive', ...options)
    expect(stderr).not.toContain('differ')
    return (await readJob(house.client, stdout.trim())).request.schedule
  }
  expect(await scheduleWith('--warn-rate', '5')).toMatchObject({
    scattering: { warningMaxRate: 5, strategy: { factor: 50 } },
  })
  expect(await scheduleWith('--by-cell', '20')).toMatchObject({
    scattering: { warningMaxRate: 10, strategy: { factor: 20 } },
  })
})

test('a date at which the first job had to stop is kept while it is to come, and said to be left out where it has passed', async () => {
  const target = { append: { entities: ['away'] } }
  const madeToStop = async (date: string, active: boolean) => {
    const request = { name: 'REFRESH_INFO', target, schedule: { stop: { date } }, active }
    const { id } = await createJob(house.client, request)
    return id
  }
  const stop = new Date(Date.now() + 1_500).toISOString()
  const stopped = await madeToStop(stop, true)
  await jobEnded(house.client, stopped)
  const late = await retry(stopped, '--plan', '--utc')
  expect(late.stderr).toContain(`Its stop, ${stop.slice(0, 19).replace('T', ' ')}Z, has passed: this one has none`)
  expect((await retry(stopped, '--plan', '--stop', '2h')).stderr).not.toContain('has passed')
  const ahead = '2099-01-01T00:00:00.000Z'
  const cancelled = await madeToStop(ahead, false)
  await house.call('DELETE', `/north/v80/operation/jobs/${cancelled}`)
  const plan = await retry(cancelled, '--of', 'cancelled', '--plan', '--json')
  expect((JSON.parse(plan.stdout) as PlanView).launch.stopDate).toBe(ahead)
})

test('how many of those chosen are no more is said, and that nothing would run, whether it is planned or done', async () => {
  await house.provision('gone')
  const target = { append: { entities: ['away', 'gone'] } }
  const { id } = await createJob(house.client, { name: 'REFRESH_INFO', target, active: false })
  await house.call('DELETE', `/north/v80/operation/jobs/${id}`)
  await jobEnded(house.client, id)
  await house.call('DELETE', '/north/v80/provision/organizations/drover/devices/gone')
  const leftOut =
    '2 cancelled. Left out of those chosen: 1, no longer there or nothing that the operation applies to.\n'
  const cancelled = [id, '--of', 'cancelled', '--inactive']
  expect((await retry(...cancelled, '--plan')).stderr).toContain(leftOut)
  const something = await retry(...cancelled)
  expect(something.stderr).toContain(leftOut)
  expect(something.stderr).not.toContain('Nothing would run.')

  const never = ['--start', '2099-03-02T09:00', '--stop', '1h', '--window', '22:00-06:00']
  const planned = await retry(...cancelled, ...never, '--plan')
  const [warning = ''] = planned.stdout.split('\n')
  expect(warning).toMatch(
    /^Nothing would run\. The stop, at .*, would cancel the one operation before the first launch/,
  )
  expect(planned.stderr).not.toContain(warning)
  const done = await retry(...cancelled, ...never)
  const ofInactive = warning.replace('Nothing would run.', 'Nothing would run if it were activated now.')
  expect(done.stderr).toContain(`${leftOut}${ofInactive}\n`)
  expect(done.stdout).toMatch(/^[0-9a-f]{16}\n$/)
  const forPrograms = await retry(...cancelled, ...never, '--json')
  expect(forPrograms.stderr).toBe('')
})

test('it is refused where there is nothing to run again, and where entities had parameters of their own', async () => {
  const none = await retry(first, '--of', 'timed-out,busy')
  expect(none.code).toBe(4)
  expect(none.stderr).toContain(`Job ${first} has nothing to run again that is timed-out or busy.`)
  expect(none.stderr).toContain('Left as they are: 1 failed, 1 cancelled (--of).')
  expect((await retry(first, '--of', 'unlucky')).code).toBe(2)
  const own = await createJob(house.client, {
    name: 'REBOOT_EQUIPMENT',
    target: { append: { entitiesWithParameters: [{ id: 'away', parameters: { type: 'SOFTWARE' } }] } },
    active: false,
  })
  await house.call('DELETE', `/north/v80/operation/jobs/${own.id}`)
  const refused = await retry(own.id, '--of', 'cancelled')
  expect(refused.code).toBe(4)
  expect(refused.stderr).toContain('were listed with parameters of their own')

  // A long list is filled into an inactive job: no request tells what came later.
  const filled = await createJob(house.client, {
    name: 'REBOOT_EQUIPMENT',
    target: { append: { entities: ['broken'] } },
    active: false,
  })
  const append = { entitiesWithParameters: [{ id: 'away', parameters: { type: 'SOFTWARE' } }] }
  await house.call('PUT', `/north/v80/operation/jobs/${filled.id}`, { job: { request: { target: { append } } } })
  await house.call('DELETE', `/north/v80/operation/jobs/${filled.id}`)
  const hidden = await retry(filled.id, '--of', 'cancelled')
  expect([hidden.code, hidden.stdout]).toEqual([4, ''])
  expect(hidden.stderr).toContain('were listed with parameters of their own')
})
