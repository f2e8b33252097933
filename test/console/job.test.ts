/** One job in the console: what became of all that it was asked for, why the rest waits, and the course of one operation. */
import type { Page } from 'playwright-core'
import { beforeAll, describe, expect, test } from 'vitest'
import { isFinal } from '../service/house.ts'
import { createJob, readJob, readOperations } from '../service/jobs.ts'
import { type Console, confirm, hasBrowser, loseAnswer, openConsole } from './browser.ts'
import { pulling } from './pulling.ts'

const HOUR_MS = 3_600_000

describe.skipIf(!hasBrowser)('a job in the console', () => {
  let at: Console
  let taken: Awaited<ReturnType<typeof pulling>>['taken']
  let answer: Awaited<ReturnType<typeof pulling>>['answer']

  beforeAll(async () => {
    at = await openConsole()
    ;({ taken, answer } = await pulling(at.house, 'shed', [
      'good',
      'bad',
      'late',
      'away',
      'plain',
      'special',
      'silent',
    ]))
  })

  const waits = (page: Page) => page.getByRole('list', { name: 'What is waited for' })

  test('one bar has all that was asked for: successful, failed, cancelled by its cause, late, and refused', async () => {
    const { id } = await createJob(at.house.client, {
      name: 'REFRESH_INFO',
      target: { append: { entities: ['good', 'bad', 'late', 'away', 'nobody'] } },
      operationParameters: { timeout: HOUR_MS },
    })
    await answer('good', await taken('good'), { resultCode: 'SUCCESSFUL', steps: [] })
    await answer('bad', await taken('bad'), { resultCode: 'ERROR_PROCESSING', resultDescription: 'no room', steps: [] })
    const late = await taken('late')
    const page = await at.visit(`/jobs/${id}`)
    await waits(page).getByText('The device has to connect, or to ask for its work.').waitFor()
    await at.house.call('DELETE', `/north/v80/operation/jobs/${id}`)
    await expect.poll(async () => (await readJob(at.house.client, id)).report.summary.status).toBe('CANCELLED')
    await answer('late', late, { resultCode: 'SUCCESSFUL', steps: [] })
    const parts = {
      Successful: 1,
      Failed: 1,
      'Cancelled by user': 1,
      'Late, successful': 1,
      'Refused: not provisioned': 1,
    }
    const words = Object.entries(parts).map(([part, number]) => `${part} ${number}`)
    await page
      .getByRole('region', { name: 'Entities' })
      .getByRole('img', { name: words.join(', '), exact: true })
      .waitFor()
    const table = page.getByRole('region', { name: 'Operations of the job' })
    for (const [part, device] of [
      ['Failed', 'bad'],
      ['Cancelled by user', 'away'],
      ['Late, successful', 'late'],
    ] as const) {
      await page.getByRole('button', { name: new RegExp(`^${part}`) }).click()
      await expect.poll(() => table.locator('tbody a').allTextContents()).toEqual([device])
      const tones = table.locator('tbody .status')
      if (part === 'Failed') {
        expect(await tones.evaluateAll(all => all.every(each => each.classList.contains('tone-bad')))).toBe(true)
      }
    }
    await waits(page).waitFor({ state: 'detached' })
  })

  test('a large job that runs is paused without a word typed, and cancelled by the number that its dialog opened with', async () => {
    const yard = Array.from({ length: 101 }, (_, number) => `yard-${number}`)
    const devices = await pulling(at.house, 'yard', yard)
    const { id } = await createJob(at.house.client, {
      name: 'REFRESH_INFO',
      target: { append: { tags: ['yard'] } },
      operationParameters: { timeout: HOUR_MS },
    })
    const summary = async () => (await readJob(at.house.client, id)).report.summary
    await expect.poll(summary).toMatchObject({ status: 'IN_PROGRESS', total: 101 })
    const page = await at.visit(`/jobs/${id}`)
    await page.getByRole('button', { name: 'Pause', exact: true }).click()
    await confirm(page, 'Pause', 101)
    await page.getByRole('button', { name: 'Resume' }).click()
    await confirm(page, 'Resume', 101)

    await page.getByRole('button', { name: 'Cancel the job' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Type 101 to confirm').fill('10')
    await devices.answer('yard-0', await devices.taken('yard-0'), { resultCode: 'SUCCESSFUL', steps: [] })
    await page.locator('[aria-label^="Successful 1,"]').waitFor()
    await confirm(page, 'Cancel the job', 101)
    await expect.poll(summary).toMatchObject({ status: 'CANCELLED', finished: { cancelled: { byUser: 100 } } })
  })

  test('what is not launched says what holds it, and until when', async () => {
    const hour = (from: number) => `${String((new Date().getUTCHours() + from) % 24).padStart(2, '0')}:00:00Z`
    const { id } = await createJob(at.house.client, {
      name: 'REFRESH_INFO',
      target: { append: { tags: ['shed'] } },
      schedule: {
        stop: { delayed: 48 * HOUR_MS },
        window: { weekly: [{ daily: { start: hour(12), stop: hour(13) } }] },
      },
    })
    await expect.poll(async () => (await readJob(at.house.client, id)).report.summary.status).toBe('IN_PROGRESS')
    const page = await at.visit(`/jobs/${id}`)
    const closed = waits(page).getByText('The window of the job is closed.')
    await closed.waitFor()
    await closed.getByText(/^Until .*in 1[12] h/).waitFor()
    await at.house.call('PUT', `/north/v80/operation/jobs/${id}`, { job: { request: { active: false } } })
    await waits(page).getByText('The job is paused.').waitFor()

    const spread = await createJob(at.house.client, {
      name: 'REFRESH_INFO',
      target: { append: { tags: ['shed'] } },
      schedule: { stop: { delayed: 48 * HOUR_MS }, scattering: { maxSpread: 100 } },
    })
    await page.goto(`${at.house.url}/console/jobs/${spread.id}`)
    await waits(page).getByText('The launches are spread over time, and each waits for its turn.').waitFor()
    for (const each of [id, spread.id]) await at.house.call('DELETE', `/north/v80/operation/jobs/${each}`)
  })

  test('what a user cancelled is no failure: a job with nothing else does not fail, and beside failures it is told apart', async () => {
    const jobOn = async (...entities: string[]) => {
      const request = {
        name: 'REFRESH_INFO',
        target: { append: { entities } },
        operationParameters: { timeout: HOUR_MS },
      }
      return (await createJob(at.house.client, request)).id
    }
    const [failing, calledOff] = [await jobOn('bad', 'away'), await jobOn('late')]
    await answer('bad', await taken('bad'), { resultCode: 'ERROR_PROCESSING', steps: [] })
    const summary = async (id: string) => (await readJob(at.house.client, id)).report.summary
    await expect.poll(() => summary(failing)).toMatchObject({ finished: { error: 1 } })
    for (const id of [failing, calledOff]) {
      await at.house.call('DELETE', `/north/v80/operation/jobs/${id}`)
      await expect.poll(() => summary(id)).toMatchObject({ status: 'CANCELLED' })
    }
    const page = await at.visit('/')
    const fails = page.getByRole('region', { name: 'What fails' })
    const lineOf = (id: string) => fails.getByRole('listitem').filter({ has: page.locator(`a[href$="${id}"]`) })
    await lineOf(failing).getByText('1 failed · 1 cancelled of 2').waitFor()
    expect(await lineOf(calledOff).count()).toBe(0)

    // The groups of a job do the same.
    await page.goto(`${at.house.url}/console/jobs/${failing}`)
    const failures = page.getByRole('region', { name: 'Failures' })
    const groups = (place: number) => failures.locator('table').nth(place).locator('tbody tr')
    await failures.getByRole('heading', { name: 'Cancelled by a user, and no failure' }).waitFor()
    await groups(0).getByText('Error processing').waitFor()
    expect([await groups(0).count(), await groups(1).count()]).toEqual([1, 1])
    await groups(1).getByRole('button', { name: 'Show these devices' }).click()
    const devices = page.getByRole('region', { name: 'Operations of the job' }).locator('tbody a')
    await expect.poll(() => devices.allTextContents()).toEqual(['away'])
    await page.goto(`${at.house.url}/console/jobs/${calledOff}`)
    await page
      .getByRole('region', { name: 'Cancelled by a user' })
      .getByRole('button', { name: 'Show these devices' })
      .waitFor()
    expect(await failures.count()).toBe(0)
  })

  test('a retry leaves out what a user cancelled unless that is chosen, and says how many there are of each', async () => {
    const { id } = await createJob(at.house.client, {
      name: 'REFRESH_INFO',
      target: { append: { entities: ['bad', 'away'] } },
      operationParameters: { timeout: HOUR_MS },
    })
    await answer('bad', await taken('bad'), { resultCode: 'ERROR_PROCESSING', steps: [] })
    const summary = async () => (await readJob(at.house.client, id)).report.summary
    await expect.poll(summary).toMatchObject({ finished: { error: 1 } })
    await at.house.call('DELETE', `/north/v80/operation/jobs/${id}`)
    await expect.poll(summary).toMatchObject({ finished: { cancelled: { byUser: 1 } } })
    const page = await at.visit(`/jobs/${id}`)
    await page.getByRole('button', { name: 'Retry the unsuccessful' }).click()
    const dialog = page.getByRole('dialog')
    // The choice has a name, and what is said of it is read out when it changes.
    const choice = dialog.getByRole('group', { name: 'Devices whose operation was' })
    const said = dialog.getByRole('status')
    const failed = choice.getByRole('checkbox', { name: 'failed 1' })
    const cancelled = choice.getByRole('checkbox', { name: 'cancelled by a user or from outside 1' })
    await said.getByText('This touches 1 device.').waitFor()
    expect([await failed.isChecked(), await cancelled.isChecked()]).toEqual([true, false])
    expect(await dialog.getByRole('checkbox').count()).toBe(2)
    await cancelled.check()
    await said.getByText('This touches 2 devices.').waitFor()
    for (const each of [failed, cancelled]) await each.uncheck()
    await said.getByText('Choose what is run once more.').waitFor()
    expect(await dialog.getByRole('button', { name: 'Retry the unsuccessful' }).isDisabled()).toBe(true)
    await cancelled.check()
    await confirm(page, 'Retry the unsuccessful', 1)
    await expect.poll(() => page.url()).not.toContain(id)
    const made = page.url().slice(-16)
    const entities = async () => (await readOperations(at.house.client, made)).map(each => each.entityId)
    await expect.poll(entities).toEqual(['away'])
    await at.house.call('DELETE', `/north/v80/operation/jobs/${made}`)
  })

  test('a retry whose answer was lost is made once when it is asked again, and once more when its dialog is opened anew', async () => {
    await at.house.provision('twice')
    const target = { append: { entities: ['twice'] } }
    const { id } = await createJob(at.house.client, { name: 'REFRESH_INFO', target, active: false })
    await at.house.call('DELETE', `/north/v80/operation/jobs/${id}`)
    const page = await at.visit(`/jobs/${id}`)
    const dialog = page.getByRole('dialog')
    const retry = async () => {
      await page.getByRole('button', { name: 'Retry the unsuccessful' }).click()
      await dialog.getByRole('checkbox', { name: /^cancelled by a user/ }).check()
    }
    await retry()
    at.forgive(/ERR_FAILED/)
    const lost = loseAnswer<{ id: string }>(page, 'POST', '**/operation/jobs')
    await dialog.getByRole('button', { name: 'Retry the unsuccessful' }).click()
    const first = (await lost).id
    await dialog.getByRole('alert').waitFor()
    await confirm(page, 'Retry the unsuccessful', 1)
    await expect.poll(() => page.url().slice(-16)).toBe(first)
    await page.goBack()
    await expect.poll(() => page.url().slice(-16)).toBe(id)
    await retry()
    await confirm(page, 'Retry the unsuccessful', 1)
    await expect.poll(() => [id, first].includes(page.url().slice(-16))).toBe(false)
    for (const made of [first, page.url().slice(-16)]) {
      await at.house.call('DELETE', `/north/v80/operation/jobs/${made}`)
    }
  })

  test('a retry says which of the chosen devices are no more and which stop has passed, and is not offered for parameters of their own', async () => {
    for (const each of ['gone-1', 'gone-2']) await at.house.provision(each)
    const request = {
      name: 'REBOOT_EQUIPMENT',
      schedule: { stop: { date: new Date(Date.now() + 2_000).toISOString() } },
    }
    const target = { append: { entities: ['gone-1', 'gone-2'] } }
    const { id } = await createJob(at.house.client, { ...request, target })
    await expect.poll(async () => (await readJob(at.house.client, id)).report.summary.status).toBe('TIMEOUT_CANCELLED')
    await at.house.call('DELETE', '/north/v80/provision/organizations/drover/devices/gone-2')
    const page = await at.visit(`/jobs/${id}`)
    await page.getByRole('button', { name: 'Retry the unsuccessful' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByText('This touches 1 device. Left out of those chosen: 1,').waitFor()
    await dialog.getByText(/^The stop of this job, .*, has passed: the new one has none\.$/).waitFor()

    // Listed after the job was made, as a long list is: the request of the job does not hold them.
    const filled = await createJob(at.house.client, { ...request, schedule: {}, active: false })
    const append = { entitiesWithParameters: [{ id: 'gone-1', parameters: { type: 'SOFTWARE' } }] }
    const address = `/north/v80/operation/jobs/${filled.id}`
    await at.house.call('PUT', address, { job: { request: { target: { append } } } })
    await at.house.call('DELETE', address)
    await page.goto(`${at.house.url}/console/jobs/${filled.id}`)
    await page.getByRole('button', { name: 'Retry the unsuccessful' }).click()
    await dialog.getByRole('checkbox', { name: 'cancelled by a user or from outside 1' }).check()
    await dialog.getByText('Devices of this job were listed with parameters of their own').waitFor()
    expect(await dialog.getByRole('button', { name: 'Retry the unsuccessful' }).isDisabled()).toBe(true)
  })

  test('a retry asks anew, whenever it is opened, whether devices had parameters of their own', async () => {
    const request = { name: 'REFRESH_INFO', operationParameters: { timeout: HOUR_MS } }
    const own = [{ id: 'special', parameters: {} }]
    const target = { append: { entities: ['plain', 'silent'], entitiesWithParameters: own } }
    const { id } = await createJob(at.house.client, { ...request, target })
    const fails = async (device: string) =>
      await answer(device, await taken(device), { resultCode: 'ERROR_PROCESSING', resultDescription: 'no' })
    const failed = async () => (await readJob(at.house.client, id)).report.summary.finished.error
    await fails('plain')
    await expect.poll(failed).toBe(1)
    const page = await at.visit(`/jobs/${id}`)
    const dialog = page.getByRole('dialog')
    await page.getByRole('button', { name: 'Retry the unsuccessful' }).click()
    await dialog.getByText('This touches 1 device').waitFor()
    await page.keyboard.press('Escape')
    await dialog.waitFor({ state: 'hidden' })
    await fails('special')
    await expect.poll(failed).toBe(2)
    await page.getByRole('button', { name: 'Retry the unsuccessful' }).click()
    await dialog.getByText('Devices of this job were listed with parameters of their own').waitFor()
    expect(await dialog.getByRole('button', { name: 'Retry the unsuccessful' }).isDisabled()).toBe(true)
    await at.house.call('DELETE', `/north/v80/operation/jobs/${id}`)
  })

  test('an operation shows its attempts with their steps, and the messages of each as they came', async () => {
    const id = await at.house.start('good', {
      name: 'REFRESH_INFO',
      parameters: {},
      operationParameters: { timeout: HOUR_MS, retries: 1, retryResultList: ['ERROR_PROCESSING'] },
    })
    await answer('good', await taken('good'), {
      resultCode: 'ERROR_PROCESSING',
      resultDescription: 'line was busy',
      steps: [{ name: 'REFRESH_INFO', result: 'ERROR', description: 'no tone' }],
    })
    await answer('good', await taken('good'), {
      resultCode: 'SUCCESSFUL',
      steps: [{ name: 'REFRESH_INFO', result: 'SUCCESSFUL', description: 'second time lucky' }],
    })
    await at.house.until(id, isFinal)
    const [operation] = await readOperations(at.house.client, id)
    const page = await at.visit(`/jobs/${id}/operations/${operation?.operationId ?? ''}`)
    const timeline = page.getByRole('region', { name: 'Timeline' }).getByRole('listitem')
    await timeline.filter({ hasText: 'Attempt 2 launched' }).waitFor()
    const told = await timeline.allTextContents()
    const expected = [
      'Activated',
      'Attempt 1 launched',
      'no tone',
      'line was busy',
      'Attempt 2 launched',
      'second time',
    ]
    const places = expected.map(words => told.findIndex(each => each.includes(words)))
    expect(places).not.toContain(-1)
    expect(places).toEqual(places.toSorted((a, b) => a - b))
    await page.getByText('Raw messages').click()
    for (const [attempt, words] of [
      ['attempt 1', 'line was busy'],
      ['attempt 2', 'second time lucky'],
    ] as const) {
      const message = page.locator('details > .stack > div').filter({ hasText: attempt })
      await message.getByText(words).first().waitFor()
    }
  })
})
