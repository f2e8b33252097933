/** What is set in the third step of a launch, what the plan says of it, and the job that comes of it; and how jobs and devices are found. */
import type { Locator, Page } from 'playwright-core'
import { beforeAll, describe, expect, test } from 'vitest'
import type { PlanView } from '../../src/contract/client/client.ts'
import { createJob, readJob } from '../service/jobs.ts'
import { accessibilityFaults, type Console, hasBrowser, openConsole } from './browser.ts'
import { filledAt } from './chart-pixels.ts'

const ELEMENTS = [
  { name: 'kernel', operation: 'INSTALL' },
  { name: 'modem', operation: 'UPGRADE' },
]

/** A list of facts as it is read. */
async function factsOf(list: Locator): Promise<Record<string, string>> {
  const [names, words] = [await list.locator('dt').allTextContents(), await list.locator('dd').allTextContents()]
  return Object.fromEntries(names.map((name, at) => [name, words[at] ?? '']))
}

describe.skipIf(!hasBrowser)('launching, and finding', () => {
  let at: Console

  beforeAll(async () => {
    at = await openConsole({ DROVER_ROLES: 'north,engine' })
    for (const [id, values] of [
      ['valve-1', { 'provision.administration.tags': ['valve'], 'provision.device.name': 'North gate' }],
      ['valve-2', { 'provision.administration.tags': ['valve'], 'provision.device.serialNumber': 'SN-77' }],
      ['fan-1', { 'provision.administration.tags': ['fan'] }],
    ] as const) {
      await at.house.provision(id, values)
    }
  })

  test('start, stop, scattering with its curve, limits and retries become those of the job, and the plan tells its risks', async () => {
    const page = await at.visit('/launch/whom?type=REFRESH_INFO')
    await page.getByText('A tag', { exact: true }).click()
    await page.getByLabel('Tag', { exact: true }).fill('valve')
    await page.getByRole('button', { name: 'When' }).click()
    await page.getByRole('radiogroup', { name: 'When it starts' }).getByText('At a time').click()
    await page.getByLabel('Start', { exact: true }).last().fill('2099-03-10T09:00')
    await page.getByText('2099-03-10 08:00 UTC').waitFor()
    await page.getByRole('radiogroup', { name: 'When it stops' }).getByText('At a time').click()
    await page.getByLabel('Stop', { exact: true }).last().fill('2099-03-12T09:00')
    await page.getByLabel('Spread over the time, per cent').fill('100')
    await page.getByLabel('Spread by cell').click()
    await page.getByLabel('Dispersion within a cell, per cent').fill('25')
    await page.getByLabel('Seconds to acknowledge').fill('30')
    await page.getByLabel('Seconds to finish').fill('172800')
    await page.getByLabel('Retries').fill('2')
    await page.getByLabel('Seconds between attempts').fill('90')
    await page.getByRole('combobox', { name: 'Retried after, beside time-outs' }).click()
    await page.getByRole('option', { name: 'ERROR_PROCESSING' }).click()
    await page.keyboard.press('Escape')
    // The curve follows what is set, before the plan is asked for.
    await page.getByRole('img', { name: /^Launches per hour, 2 hours/ }).waitFor()

    const planned = page.waitForResponse(response => response.url().endsWith('/operation/jobs/plan'))
    await page.getByRole('button', { name: 'Plan' }).click()
    const launches = page.getByRole('region', { name: 'Launches' })
    await launches.getByText(/per second over/).waitFor()
    const curve = launches.getByRole('img', { name: /^Launches per hour/ })
    await curve.locator('.u-over').waitFor()
    // Each hour is drawn from its beginning to its end: the first and the last, with launches, and the second, which has none.
    const { launch }: PlanView = await (await planned).json()
    const [first, last] = [launch.perHour.at(0), launch.perHour.at(-1)].map(hour => Date.parse(hour!.date)) as [
      number,
      number,
    ]
    const hours = (last - first) / 3_600_000 + 1
    const middles = [0, 1, hours - 1].map(hour => (hour + 0.5) / hours)
    await expect.poll(() => filledAt(curve, middles), { timeout: 45_000 }).toEqual([true, false, true])
    const risk = page.getByRole('region', { name: 'Devices and risk' })
    await risk.getByText('are launched so late that the stop may cancel them').waitFor()

    await page.getByRole('button', { name: 'Back' }).click()
    await page.getByLabel('Warn above, operations per second').fill('1')
    await page.getByLabel('Spread over the time, per cent').fill('0')
    await page.getByRole('button', { name: 'Plan' }).click()
    await risk.getByText('It launches as fast as possible; the most it should is 1.').waitFor()
    // The last step says once more what is launched.
    const recap = page.getByRole('region', { name: 'What is launched' }).locator('dl')
    expect(await factsOf(recap)).toMatchObject({
      Operation: 'Refresh information REFRESH_INFO',
      Parameters: 'none',
      Target: 'everything tagged valve',
      Start: '10 Mar 2099 09:00:00',
      Stop: '12 Mar 2099 09:00:00',
      Window: 'at any hour',
      Spread: 'as fast as possible, by cell with factor 25; warns above 1 per second',
      Limits:
        '30 s to acknowledge, 2 d to finish, 2 retries, 1 min 30 s between attempts, retried after ERROR_PROCESSING',
    })
    await page.getByRole('button', { name: 'Refresh information on 2 devices' }).click()
    await expect.poll(() => page.url()).toMatch(/\/jobs\/[0-9a-f]{16}$/)
    const { request } = await readJob(at.house.client, page.url().slice(-16))
    expect(request).toMatchObject({
      name: 'REFRESH_INFO',
      target: { append: { tags: ['valve'] } },
      schedule: {
        start: { date: '2099-03-10T08:00:00.000Z' },
        stop: { date: '2099-03-12T08:00:00.000Z' },
        scattering: { strategy: { factor: 25 }, warningMaxRate: 1 },
      },
      operationParameters: {
        ackTimeout: 30_000,
        timeout: 172_800_000,
        retries: 2,
        retriesDelay: 90_000,
        retryResultList: ['ERROR_PROCESSING'],
      },
    })
  })

  test('the plan of a task is that of its next run, and says what it launches in which rhythm', async () => {
    const page = await at.visit('/tasks/new/when?type=REBOOT_EQUIPMENT&device=valve-1&device=valve-2')
    await page.getByLabel('Name of the task').fill('Valves by night')
    await page.getByLabel('At', { exact: true }).fill('02:00')
    await page.getByLabel('Spread over the time, per cent').fill('50')
    const launches = page.getByRole('region', { name: 'Launches of the next run' }).locator('dl')
    await launches.getByText('Next run').waitFor()
    await expect.poll(async () => (await factsOf(launches))['Next run']).toMatch(/02:00:00$/)
    await page.getByRole('button', { name: 'Plan' }).click()
    await expect
      .poll(() => factsOf(launches))
      .toMatchObject({ 'Next run': expect.stringMatching(/02:00:00$/), First: expect.stringMatching(/02:00:00$/) })
    expect(await factsOf(page.getByRole('region', { name: 'What the task launches' }).locator('dl'))).toMatchObject({
      Operation: 'Reboot REBOOT_EQUIPMENT',
      Target: 'a list of 2: valve-1, valve-2',
      Task: 'Valves by night',
      Repeats: expect.stringMatching(/^every day at 02:00 UTC\+0[12]:00$/),
      Ends: 'never',
      Stop: '1 h after the start',
      Spread: 'over 50 % of the time',
    })
    await page.getByRole('button', { name: 'Create the task on 2 devices' }).waitFor()
  })

  test('a job whose stop comes before its first launch says that nothing would run, and is launched only by who means it', async () => {
    const page = await at.visit('/launch/whom?type=REFRESH_INFO')
    await page.getByText('A tag', { exact: true }).click()
    await page.getByLabel('Tag', { exact: true }).fill('valve')
    await page.getByRole('button', { name: 'When' }).click()
    await page.getByRole('radiogroup', { name: 'When it starts' }).getByText('At a time').click()
    await page.getByLabel('Start', { exact: true }).last().fill('2099-03-10T09:00')
    await page.getByRole('radiogroup', { name: 'When it stops' }).getByText('After a while').click()
    await page.getByLabel('Minutes after the start').fill('60')
    // The nights: none of their hours is between start and stop.
    await page.getByLabel('Only at certain hours').click()
    const warning = page.getByRole('alert').filter({ hasText: 'Nothing would run.' })
    await warning.waitFor()
    await page.getByRole('button', { name: 'Plan' }).click()
    await warning.getByText(/would cancel all 2 operations before the first launch: the window does not open/).waitFor()
    expect(await page.getByText('Nothing speaks against it.').count()).toBe(0)
    expect(await factsOf(page.getByRole('region', { name: 'Launches' }).locator('dl'))).toEqual({
      First: 'nothing is launched',
      Stop: '10 Mar 2099 10:00:00',
    })
    const launch = page.getByRole('button', { name: 'Launch, and run nothing' })
    expect(await launch.isDisabled()).toBe(true)
    expect(await accessibilityFaults(page)).toEqual([])
    await page.getByLabel('Launch it all the same: nothing of it would run').check()
    await launch.click()
    await expect.poll(() => page.url()).toMatch(/\/jobs\/[0-9a-f]{16}$/)
  })

  test('a job without a device is not launched, with the reason; a task without one may be made, since its runs look anew', async () => {
    const page = await at.visit('/launch/plan?type=REFRESH_INFO&device=nobody-1&device=nobody-2')
    const warning = page.getByRole('alert').filter({ hasText: 'Nothing would run.' })
    await warning.getByText('all is refused: 2 not provisioned.').waitFor()
    await page.getByText('A job on a list is refused where nothing of it can be used.').waitFor()
    expect(await page.getByRole('button', { name: 'Launch, and run nothing' }).isDisabled()).toBe(true)

    await page.goto(`${at.house.url}/console/tasks/new/whom?type=REFRESH_INFO`)
    await page.getByText('A tag', { exact: true }).click()
    await page.getByLabel('Tag', { exact: true }).fill('to-be-mounted')
    await page.getByRole('button', { name: 'When' }).click()
    await page.getByRole('button', { name: 'Plan' }).click()
    await warning.getByText('The target finds no device that the operation applies to.').waitFor()
    const create = page.getByRole('button', { name: 'Create the task on 0 devices' })
    expect(await create.isDisabled()).toBe(true)
    await page.getByLabel('Create it all the same: each run looks for its devices anew').check()
    await create.click()
    await expect.poll(() => page.url()).toMatch(/\/tasks\/(?!new)/)
  })

  test('who means to make a task that would run nothing is asked again when that has another reason', async () => {
    const page = await at.visit('/tasks/new/whom?type=REFRESH_INFO')
    await page.getByText('A tag', { exact: true }).click()
    await page.getByLabel('Tag', { exact: true }).fill('mounted-later')
    await page.getByRole('button', { name: 'When' }).click()
    await page.getByLabel('At', { exact: true }).fill('12:00')
    // The nights: the hour after noon is none of theirs.
    await page.getByLabel('Only at certain hours').click()
    await page.getByRole('button', { name: 'Plan' }).click()
    await page.getByLabel('Create it all the same: each run looks for its devices anew').check()
    const create = page.getByRole('button', { name: /^Create the task on / })
    expect(await create.isEnabled()).toBe(true)
    await at.house.provision('late-1', { 'provision.administration.tags': ['mounted-later'] })
    // Whoever comes back to the page is shown the plan as it is now.
    let plans = 0
    page.on('response', response => {
      if (response.url().endsWith('/operation/jobs/plan')) plans += 1
    })
    const comeBack = async () => {
      const before = plans
      const plannedAnew = async () => {
        await page.evaluate(() => window.dispatchEvent(new Event('visibilitychange')))
        return plans
      }
      await expect.poll(plannedAnew).toBeGreaterThan(before)
    }
    await comeBack()
    const other = page.getByLabel('Create it all the same: its next run would launch nothing')
    await other.waitFor()
    expect([await other.isChecked(), await create.isEnabled()]).toEqual([false, false])
    await other.check()
    await comeBack()
    expect([await other.isChecked(), await create.isEnabled()]).toEqual([true, true])
  })

  test('a job that is not to start yet is warned of as if it were activated now', async () => {
    const page = await at.visit('/launch/whom?type=REFRESH_INFO')
    await page.route('**/operation/jobs/plan', async route => {
      const response = await route.fetch()
      const plan: PlanView = await response.json()
      const launch = { ...plan.launch, notLaunched: plan.target.total, stopDate: '2099-03-10T09:00:00.000Z' }
      await route.fulfill({ response, json: { ...plan, launch } })
    })
    await page.getByText('A tag', { exact: true }).click()
    await page.getByLabel('Tag', { exact: true }).fill('valve')
    await page.getByRole('button', { name: 'When' }).click()
    await page.getByRole('radiogroup', { name: 'When it starts' }).getByText('Not yet').click()
    await page.getByText('Nothing would run if it were activated now.').waitFor()
    await page.getByRole('button', { name: 'Plan' }).click()
    await page.getByText('Nothing would run if it were activated now.').waitFor()
    await page.getByLabel('Create it all the same: activated now, it would run nothing').check()
    await page.getByRole('button', { name: 'Create the job on 2 devices' }).click()
    await expect.poll(() => page.url()).toMatch(/\/jobs\/[0-9a-f]{16}$/)
    const { request, report } = await readJob(at.house.client, page.url().slice(-16))
    expect([request.name, report.summary.status]).toEqual(['REFRESH_INFO', 'IDLE'])
  })

  test('a firmware update is launched with the elements of its bundle, one below the other', async () => {
    const page = await at.visit('/launch/what?type=UPDATE')
    await page.getByRole('textbox', { name: 'Version of the bundle' }).fill('2.4.0')
    for (const [place, { name, operation }] of ELEMENTS.entries()) {
      await page.getByRole('button', { name: 'Add to elements' }).click()
      await page.getByRole('textbox', { name: 'Name', exact: true }).nth(place).fill(name)
      await page.getByRole('textbox', { name: 'Version', exact: true }).nth(place).fill('2.4.0')
      await page.getByRole('combobox', { name: 'What is done' }).nth(place).click()
      await page.getByRole('option', { name: operation, exact: true }).click()
    }
    await page.getByRole('button', { name: 'Add to validators' }).first().click()
    await page.getByRole('textbox', { name: 'Value', exact: true }).fill('9f86d081')
    // The order in which they are installed is that of the list.
    await page.getByRole('button', { name: 'Up', exact: true }).click()
    expect((await launched(page)).parameters).toEqual({
      bundleVersion: '2.4.0',
      deploymentElements: [
        { name: 'modem', version: '2.4.0', operation: 'UPGRADE' },
        { name: 'kernel', version: '2.4.0', operation: 'INSTALL', validators: [{ value: '9f86d081' }] },
      ],
    })
  })

  test('a switch, several of a choice and an instant are sent as the schema says them', async () => {
    const properties = {
      forced: { type: 'boolean', title: 'Even when busy' },
      ports: { type: 'array', title: 'Ports', uniqueItems: true, items: { type: 'string', enum: ['A', 'B', 'C'] } },
      dueAt: { type: 'string', title: 'Due', format: 'date-time' },
    }
    const { status } = await at.house.call('POST', '/north/v80/operationTypes/provision/organizations/drover', {
      name: 'CLOSE_PORTS',
      title: 'Close ports',
      applicableTo: ['entity.device'],
      parameters: { type: 'object', properties },
    })
    expect(status).toBe(201)
    const page = await at.visit('/launch/what?type=CLOSE_PORTS')
    await page.getByRole('checkbox', { name: 'Even when busy' }).check()
    await page.getByRole('checkbox', { name: 'C', exact: true }).check()
    await page.getByRole('checkbox', { name: 'A', exact: true }).check()
    await page.getByLabel('Due', { exact: false }).fill('2099-07-01T09:30')
    const { parameters } = await launched(page)
    expect(parameters).toMatchObject({ forced: true, ports: ['A', 'C'] })
    // The viewer's summer time is two hours ahead.
    expect(Date.parse(String(parameters.dueAt))).toBe(Date.parse('2099-07-01T07:30:00Z'))
  })

  /** Launches what stands in the first step on everything tagged `valve`; answers its request as the service has it. */
  async function launched(page: Page): Promise<{ parameters: Record<string, unknown> }> {
    await page.getByRole('button', { name: 'Whom' }).click()
    await page.getByText('A tag', { exact: true }).click()
    await page.getByLabel('Tag', { exact: true }).fill('valve')
    await page.getByRole('button', { name: 'When' }).click()
    await page.getByRole('button', { name: 'Plan' }).click()
    await page.getByRole('button', { name: / on 2 devices$/ }).click()
    await expect.poll(() => page.url()).toMatch(/\/jobs\/[0-9a-f]{16}$/)
    const { request } = await readJob(at.house.client, page.url().slice(-16))
    return request as { parameters: Record<string, unknown> }
  }

  test('devices are found by identifier, name, serial number and tag, and the address keeps what is asked', async () => {
    const page = await at.visit('/devices')
    const rows = page.getByRole('region', { name: 'Devices' }).locator('tbody a')
    const find = async (label: string, words: string, found: readonly string[]) => {
      await page.getByLabel(label, { exact: true }).fill(words)
      await expect.poll(async () => (await rows.allTextContents()).toSorted()).toEqual(found)
    }
    await find('Find', 'VALVE', ['valve-1', 'valve-2'])
    await find('Find', 'north gate', ['valve-1'])
    await find('Find', 'sn-77', ['valve-2'])
    await page.getByLabel('Find', { exact: true }).fill('')
    await find('Tag', 'fan', ['fan-1'])
    await expect.poll(() => new URL(page.url()).search).toBe('?tag=fan')
    await page.reload()
    await expect.poll(() => rows.allTextContents()).toEqual(['fan-1'])
  })

  test('a job appears in the list of jobs as it is made, and is found by its note, its user and its status', async () => {
    const page = await at.visit('/jobs')
    const rows = page.getByRole('region', { name: 'Jobs' }).locator('tbody tr')
    await page.getByText(/^Live, as of/).waitFor()
    const { id } = await createJob(at.house.client, {
      name: 'REBOOT_EQUIPMENT',
      parameters: { type: 'SOFTWARE' },
      target: { append: { tags: ['valve'] } },
      active: false,
      userNotes: 'Before the frost',
    })
    const made = rows.filter({ has: page.locator(`a[href$="${id}"]`) })
    await made.getByRole('img', { name: 'Scheduled 2' }).waitFor()
    await at.house.call('DELETE', `/north/v80/operation/jobs/${id}`)
    await made.getByText('Cancelled', { exact: true }).waitFor()
    await made.getByRole('img', { name: 'Cancelled by user 2' }).waitFor()
    await page.getByLabel('Find').fill('the frost')
    await expect.poll(() => rows.count()).toBe(1)
    await page.getByLabel('Find').fill('nobody@')
    await page.getByText('No job fits this filter.').waitFor()
    await page.getByLabel('Find').fill('')
    await page.getByRole('combobox', { name: 'Show' }).click()
    await page.getByRole('option', { name: 'Cancelled', exact: true }).click()
    await expect.poll(() => rows.count()).toBe(1)
    expect(new URL(page.url()).search).toBe('?show=CANCELLED')
  })
})
