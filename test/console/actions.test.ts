import { execFile } from 'node:child_process'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { promisify } from 'node:util'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { JobView } from '../../src/contract/client/client.ts'
import type { DeliveriesPage } from '../../src/contract/delivery.ts'
import type { TaskView } from '../../src/contract/task.ts'
import type { WhyView } from '../../src/contract/why.ts'
import type { Fleet } from '../../src/simulator/fleet.ts'
import { bringUpFleet } from '../service/fleet.ts'
import { createJob, readJob, readOperations } from '../service/jobs.ts'
import { notes } from '../south/parts.ts'
import { type Console, confirm, hasBrowser, loseAnswer, openConsole } from './browser.ts'

const TASKS = '/north/v80/operation/tasks'

describe.skipIf(!hasBrowser)('what is done in the console', () => {
  let at: Console
  let fleet: Fleet

  beforeAll(async () => {
    at = await openConsole()
    fleet = await bringUpFleet(at.house, { devices: 150, prefix: 'pump', flows: { 'http-sync': 1 } })
    await at.house.provision('away-1')
  })
  afterAll(() => fleet?.stop())

  const taskOf = async (id: string) => {
    const { status, body } = await at.house.call<{ task: TaskView }>('GET', `${TASKS}/${id}`)
    expect(status, JSON.stringify(body)).toBe(200)
    return body.task
  }

  test('a task is made in four steps, paused, resumed and deleted', async () => {
    const page = await at.visit('/tasks/new/what')
    await page.getByRole('combobox', { name: 'Operation' }).fill('refresh')
    await page.getByRole('option', { name: /REFRESH_INFO/ }).click()
    await page.getByRole('button', { name: 'Whom' }).click()
    await page.getByText('A list', { exact: true }).click()
    await page.getByRole('textbox', { name: 'Devices' }).fill('pump-1, pump-2')
    await page.getByRole('region', { name: 'Found now' }).getByText('pump-2').waitFor()
    await page.getByRole('button', { name: 'When' }).click()
    await page.getByLabel('Name of the task').fill('Pumps by night')
    await page.getByLabel('At', { exact: true }).fill('03:15')
    await page.getByLabel('Jobs at most').fill('5')
    await page.getByRole('button', { name: 'Plan' }).click()
    await page.getByRole('button', { name: 'Create the task on 2 devices' }).click()
    await page.getByRole('heading', { name: 'Pumps by night' }).waitFor()

    const id = decodeURIComponent(new URL(page.url()).pathname.split('/').at(-1) ?? '')
    const made = await taskOf(id)
    expect([made.name, made.state]).toEqual(['Pumps by night', 'ACTIVE'])
    expect(made.schedule).toMatchObject({
      stop: { executions: 5 },
      repeating: { pattern: { time: expect.stringMatching(/^03:15:00/) } },
    })
    expect(made.job.request).toMatchObject({
      name: 'REFRESH_INFO',
      target: { append: { entities: ['pump-1', 'pump-2'] } },
    })

    await act(page, 'Pause')
    await page.getByRole('button', { name: 'Resume' }).waitFor()
    expect((await taskOf(id)).state).toBe('INACTIVE')
    await act(page, 'Resume')
    await page.getByRole('button', { name: 'Pause' }).waitFor()
    expect((await taskOf(id)).state).toBe('ACTIVE')
    await act(page, 'Delete')
    await page.getByRole('button', { name: 'Delete' }).waitFor({ state: 'detached' })
    expect(['ACTIVE', 'INACTIVE']).not.toContain((await taskOf(id)).state)
  })

  test('a task does not take a list longer than one request holds, and says so', async () => {
    const page = await at.visit('/tasks/new/whom?type=REFRESH_INFO')
    await page.getByText('A list', { exact: true }).click()
    await page.getByRole('textbox', { name: 'Devices' }).fill(pumps(101).join('\n'))
    await page.getByText('A task lists at most 100 devices').waitFor()
    expect(await page.getByRole('button', { name: 'When' }).isDisabled()).toBe(true)
  })

  test('a new key of a device is shown once, and is the one that the device is let in with', async () => {
    const old = await at.house.provision('lock-1')
    const asks = async (key: string) => (await at.house.south('lock-1', key, 'operation/pending')).status
    expect(await asks(old)).toBe(204)
    const page = await at.visit('/devices/lock-1')
    const panel = page.getByRole('region', { name: 'API key' })
    await panel.getByRole('button', { name: 'Make a new key' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Make a new key' }).click()
    await panel.getByText('It is not shown again.').waitFor()
    const key = (await panel.locator('pre').textContent()) ?? ''
    expect([await asks(key), await asks(old)]).toEqual([204, 401])
    await page.reload()
    await panel.getByText('The service tells it only when it is made.').waitFor()
    expect(await page.getByText(key).count()).toBe(0)
  })

  test('a delivery is repeated: the receiver hears the same once more, and the log counts it', async () => {
    const heard = notes<string>()
    const receiver = createServer((request, reply) => {
      request.resume().on('end', () => {
        reply.writeHead(204).end()
        heard.add(String(request.headers['webhook-id']))
      })
    })
    await new Promise<void>(resolve => receiver.listen(0, '127.0.0.1', resolve))
    try {
      const { id } = await createJob(at.house.client, {
        name: 'REFRESH_INFO',
        target: { append: { entities: ['pump-3'] } },
        callback: `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/told`,
      })
      const log = async () =>
        (await at.house.call<DeliveriesPage | undefined>('GET', `/north/v80/deliveries?job=${id}`)).body?.deliveries ??
        []
      await expect.poll(async () => (await log()).filter(each => each.state === 'DELIVERED').length).toBe(2)
      const finished = (await log()).find(each => each.event === 'jobFinished')
      const page = await at.visit(`/deliveries?job=${id}`)
      const row = page.getByRole('row').filter({ hasText: 'jobFinished' })
      await row.getByRole('button', { name: 'Repeat' }).click()
      const dialog = page.getByRole('dialog')
      await dialog.getByText('is sent to').waitFor()
      await dialog.getByRole('button', { name: 'Repeat' }).click()
      await dialog.waitFor({ state: 'detached' })
      await expect.poll(async () => (await log()).find(each => each.id === finished?.id)?.attempts).toBe(2)
      expect(heard.all.filter(each => each === finished?.id)).toHaveLength(2)
    } finally {
      receiver.closeAllConnections()
      receiver.close()
    }
  })

  test('the why panel says what holds an operation and what moves it next, as the interface does, and follows it', async () => {
    const { id } = await createJob(at.house.client, {
      name: 'REFRESH_INFO',
      target: { append: { entities: ['away-1'] } },
      schedule: { stop: { delayed: 7_200_000 } },
      operationParameters: { timeout: 3_600_000 },
    })
    await expect.poll(async () => (await readJob(at.house.client, id)).report.summary.status).toBe('IN_PROGRESS')
    const [operation] = await readOperations(at.house.client, id)
    const why = async () =>
      (
        await at.house.call<WhyView>(
          'GET',
          `/north/v80/operation/jobs/${id}/operations/${operation?.operationId ?? ''}/why`,
        )
      ).body
    const page = await at.visit(`/jobs/${id}/operations/${operation?.operationId ?? ''}`)
    const panel = page.getByRole('region', { name: 'Why it is where it is' })
    const saysAll = async () => {
      const { held, next } = await why()
      expect(next.length).toBeGreaterThan(0)
      for (const { reason } of held) await panel.getByText(reason).first().waitFor()
      for (const { words } of next) await panel.getByText(words).first().waitFor()
    }
    await saysAll()
    await panel.locator('.as-of time').waitFor()
    expect(await panel.getByText('Resuming the job opens it').count()).toBe(0)
    await at.house.call('PUT', `/north/v80/operation/jobs/${id}`, { job: { request: { active: false } } })
    await panel.getByText('Resuming the job opens it').waitFor()
    await saysAll()
    await at.house.call('DELETE', `/north/v80/operation/jobs/${id}`)
    await panel.waitFor({ state: 'detached' })
  })

  test('conditions are put together with a live count, and become the filter of the job', async () => {
    const page = await at.visit('/launch/whom?type=REFRESH_INFO')
    await page.getByText('Conditions', { exact: true }).click()
    const found = page.getByRole('region', { name: 'Found now' }).locator('.tile-value')
    const condition = async (number: number, field: string, operator: string, value: string) => {
      await page.getByRole('button', { name: 'Add a condition' }).click()
      const name = page.getByRole('combobox', { name: `Field of condition ${number}` })
      await name.fill(field)
      await name.press('Escape')
      await page.getByRole('combobox', { name: `How condition ${number} compares` }).click()
      await page.getByRole('option', { name: operator, exact: true }).click()
      await page.getByLabel(`Value of condition ${number}`).fill(value)
    }
    await condition(1, 'provision.administration.tags', 'is', 'pump')
    await expect.poll(() => found.textContent()).toBe('150')
    await condition(2, 'provision.device.identifier', 'is one of', 'pump-4, pump-5, away-1')
    await expect.poll(() => found.textContent()).toBe('2')
    await page.getByText('Any of these').click()
    await expect.poll(() => found.textContent()).toBe('151')
    await page.getByText('All of these').click()
    await expect.poll(() => found.textContent()).toBe('2')
    await page.getByRole('button', { name: 'When' }).click()
    await page.getByRole('button', { name: 'Plan' }).click()
    await page.getByRole('button', { name: 'Refresh information on 2 devices' }).click()
    await expect.poll(() => jobOf(page)).not.toBe('')
    const operations = await readOperations(at.house.client, jobOf(page))
    expect(operations.map(each => each.entityId).sort()).toEqual(['pump-4', 'pump-5'])
  })

  test('more than a hundred identifiers, pasted or in a file, become one job in parts', async () => {
    const page = await at.visit('/launch/whom?type=REFRESH_INFO')
    const found = page.getByRole('region', { name: 'Found now' })
    await page.getByRole('textbox', { name: 'Devices' }).fill([...pumps(120), 'nobody-1', 'nobody-2'].join(', '))
    await page.getByText('122 identifiers', { exact: true }).waitFor()
    await found.getByText('2 identifiers of the list are not provisioned. nobody-1, nobody-2').waitFor()
    await expect.poll(() => found.locator('.tile-value').textContent()).toBe('120')

    const text = pumps(150)
      .map(each => `"${each}"`)
      .join('\r\n')
    await page
      .locator('input[type=file]')
      .setInputFiles({ name: 'pumps.csv', mimeType: 'text/csv', buffer: Buffer.from(text) })
    await page.getByText('150 identifiers', { exact: true }).waitFor()
    await expect.poll(() => found.locator('.tile-value').textContent()).toBe('150')
    await page.getByText('filled in parts of 100').waitFor()
    await page.getByRole('button', { name: 'When' }).click()
    await page.getByRole('button', { name: 'Plan' }).click()
    // The script that is offered makes the same job.
    await page.getByText('The same with curl').click()
    const [script] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Download launch-on-150.sh' }).click(),
    ])
    const env = { ...process.env, DROVER_URL: at.house.url, DROVER_API_KEY: at.house.apiKey }
    const { stdout } = await promisify(execFile)('sh', [await script.path()], { env })
    const done = { total: 150, finished: { successful: 150 } }
    await expect
      .poll(async () => (await readJob(at.house.client, stdout.trim())).report.summary)
      .toMatchObject({ status: 'FINISHED', ...done })
    await page.getByLabel('Type 150 to confirm').fill('150')
    await page.getByRole('button', { name: 'Refresh information on 150 devices' }).click()
    await expect.poll(() => jobOf(page)).not.toBe('')
    const summary = async () => (await readJob(at.house.client, jobOf(page))).report.summary
    await expect.poll(summary).toMatchObject(done)
    await page.locator('.page-facts').getByText('Finished', { exact: true }).waitFor()
  })

  test('a launch whose answers were lost is gone on with when it is asked again: it is one job, and no device is listed twice', async () => {
    const page = await at.visit('/launch/whom?type=REFRESH_INFO')
    await page
      .getByRole('textbox', { name: 'Devices' })
      .fill([...pumps(140), 'nobody-1', ...pumps(3), ...pumps(3)].join(', '))
    await page.getByRole('button', { name: 'When' }).click()
    await page.getByRole('button', { name: 'Plan' }).click()
    await page.getByLabel('Type 140 to confirm').fill('140')
    const launch = page.getByRole('button', { name: 'Refresh information on 140 devices' })
    at.forgive(/ERR_FAILED/)
    // The answer to the job itself, to the second part of its list, and to its activation.
    const made = loseAnswer<{ id: string }>(page, 'POST', '**/operation/jobs')
    await launch.click()
    const { id } = await made
    for (const status of ['IDLE', 'IN_PROGRESS']) {
      const changed = loseAnswer<JobView>(page, 'PUT', `**/operation/jobs/${id}`)
      await expect.poll(() => launch.isEnabled()).toBe(true)
      await launch.click()
      expect((await changed).report.summary).toMatchObject({ total: 140, status })
    }
    await expect.poll(() => launch.isEnabled()).toBe(true)
    await launch.click()
    await expect.poll(() => jobOf(page)).toBe(id)
    const { summary, target } = (await readJob(at.house.client, id)).report
    expect([summary.total, target]).toEqual([140, { notProvisioned: ['nobody-1'] }])
  })

  test('a launch asked again whose job was cancelled meanwhile says so, and keeps what was to be launched', async () => {
    const page = await at.visit('/launch/plan?type=REFRESH_INFO&device=pump-1&device=pump-2')
    const launch = page.getByRole('button', { name: 'Refresh information on 2 devices' })
    at.forgive(/ERR_FAILED/)
    const made = loseAnswer<{ id: string }>(page, 'POST', '**/operation/jobs')
    await launch.click()
    const { id } = await made
    await at.house.call('DELETE', `/north/v80/operation/jobs/${id}`)
    await expect.poll(() => launch.isEnabled()).toBe(true)
    await launch.click()
    await page.getByText(/^The job that an earlier attempt has made was cancelled meanwhile/).waitFor()
    await expect.poll(() => launch.isEnabled()).toBe(true)
    expect(jobOf(page)).toBe('')
  })

  test('what is about to be launched is still there when the page is loaded anew, until it is launched or begun anew', async () => {
    const page = await at.visit('/launch/whom?type=REFRESH_INFO')
    await page.getByRole('textbox', { name: 'Devices' }).fill('pump-6, pump-7')
    await page.getByRole('button', { name: 'When' }).click()
    await page.getByLabel('Notes').fill('Not to be lost')
    await page.reload()
    await expect.poll(() => page.getByLabel('Notes').inputValue()).toBe('Not to be lost')
    await page.getByRole('button', { name: 'Plan' }).click()
    await page.getByRole('button', { name: 'Refresh information on 2 devices' }).waitFor()
    await page.reload()
    await page.getByRole('button', { name: 'Refresh information on 2 devices' }).click()
    await expect.poll(() => jobOf(page)).not.toBe('')
    expect((await readJob(at.house.client, jobOf(page))).request.userNotes).toBe('Not to be lost')
    await page.goto(`${at.house.url}/console/launch/whom?type=REFRESH_INFO`)
    await page.getByText('List at least one device.').waitFor()
    await page.getByRole('textbox', { name: 'Devices' }).fill('pump-8')
    await page.getByRole('button', { name: 'Start over' }).click()
    await page.getByText('Choose an operation.').waitFor()
    await page.reload()
    await page.getByText('Choose an operation.').waitFor()
  })

  test('the plan tells what is refused of the target, with its reason and which', async () => {
    const page = await at.visit('/launch/plan?type=REFRESH_INFO&device=pump-9&device=nobody-7')
    const refused = page.getByRole('region', { name: 'Refused' })
    await refused.getByText('The organization has no entity of this identifier.').waitFor()
    await refused.getByText('Which').click()
    await refused.getByText('nobody-7').waitFor()
    expect(await refused.getByText('pump-9').count()).toBe(0)
    await page.getByRole('button', { name: 'Refresh information on 1 device', exact: true }).waitFor()
  })

  test('the removal of a type says how many devices and tasks it touches, and wants the number typed', async () => {
    const types = '/north/v80/operationTypes/provision/organizations/drover'
    await at.house.call('POST', types, { name: 'RINSE', applicableTo: ['entity.device'] })
    await at.house.call('POST', TASKS, {
      task: {
        name: 'Rinse later',
        schedule: { start: { date: '2099-01-15T09:30:00Z' } },
        job: { request: { name: 'RINSE', target: { append: { entities: ['pump-1'] } } } },
      },
    })
    const { id } = await createJob(at.house.client, {
      name: 'RINSE',
      target: { append: { tags: ['pump'] } },
      active: true,
      schedule: { start: { delayed: 3_600_000 } },
    })
    await expect.poll(async () => (await readJob(at.house.client, id)).report.summary.total).toBe(150)
    const page = await at.visit('/types/RINSE')
    await page.getByRole('button', { name: 'Delete', exact: true }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByText('150 open operations and 1 task that run it are cancelled.').waitFor()
    await confirm(page, 'Delete', 150)
    await expect.poll(() => new URL(page.url()).pathname).toBe('/console/types')
    await expect
      .poll(async () => (await readJob(at.house.client, id)).report.summary.finished)
      .toMatchObject({ cancelled: { byEngine: 150 } })
  })

  test('a task and a job that touch no device are paused and ended all the same', async () => {
    const request = { name: 'REFRESH_INFO', target: { append: { tags: ['nobody-has-it'] } } }
    const { body } = await at.house.call<{ task: TaskView }>('POST', TASKS, {
      task: {
        name: 'For nobody',
        schedule: { start: { date: '2099-01-15T09:30:00Z' } },
        job: { request },
      },
    })
    const { id } = body.task
    const page = await at.visit(`/tasks/${id}`)
    await act(page, 'Pause', 0)
    await page.getByRole('button', { name: 'Resume' }).waitFor()
    await act(page, 'Delete', 0)
    await expect.poll(async () => (await taskOf(id)).state).toBe('CANCELLED')

    const job = await createJob(at.house.client, { ...request, active: false })
    await page.goto(`${at.house.url}/console/jobs/${job.id}`)
    await act(page, 'Cancel the job', 0)
    await expect.poll(async () => (await readJob(at.house.client, job.id)).report.summary.status).toBe('CANCELLED')
  })

  test("times are in the viewer's zone, with UTC on hover", async () => {
    const { status, body } = await at.house.call<{ task: TaskView }>('POST', TASKS, {
      task: {
        name: 'In another time',
        schedule: {
          start: { date: '2099-01-15T09:30:00Z' },
          stop: { date: '2099-07-15T09:30:00Z' },
          repeating: { period: { each: 1, unit: 'DAYS' } },
        },
        job: { request: { name: 'REFRESH_INFO', target: { append: { entities: ['pump-1'] } } } },
      },
    })
    expect(status, JSON.stringify(body)).toBe(201)
    const page = await at.visit(`/tasks/${body.task.id}`)
    const schedule = page.getByRole('region', { name: 'Schedule' })
    const first = schedule.locator('time').first()
    await first.hover()
    expect(await first.textContent()).toMatch(/15 Jan.* 10:30/)
    expect(await first.getAttribute('title')).toBe('2099-01-15 09:30:00.000 UTC')
    const end = schedule.locator('dt').filter({ hasText: 'Ends' }).locator('+ dd time')
    expect(await end.textContent()).toBe('15 Jul 2099 11:30:00')
    expect(await end.getAttribute('title')).toBe('2099-07-15 09:30:00.000 UTC')
  })
})

/** Presses a button and confirms what its dialog says. */
async function act(page: Page, button: string, devices = 2): Promise<void> {
  await page.getByRole('button', { name: button, exact: true }).click()
  await confirm(page, button, devices)
}

/** The job that the page shows; empty where it shows none. */
const jobOf = (page: Page): string => /\/jobs\/([0-9a-f]{16})$/.exec(page.url())?.[1] ?? ''

const pumps = (number: number): string[] => Array.from({ length: number }, (_, index) => `pump-${index}`)
