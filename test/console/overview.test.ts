import { beforeAll, describe, expect, test } from 'vitest'
import type { DeliveriesPage } from '../../src/contract/delivery.ts'
import { sql } from '../../src/store/statement.ts'
import { createJob, readJob } from '../service/jobs.ts'
import { type Console, hasBrowser, openConsole } from './browser.ts'

const JOBS = 15
const DEVICES = 4

describe.skipIf(!hasBrowser)('the overview', () => {
  let at: Console

  beforeAll(async () => {
    at = await openConsole({ DROVER_ROLES: 'north,engine' })
    for (let device = 0; device < DEVICES; device++) {
      await at.house.provision(`pump-${device}`, {
        'provision.administration.tags': ['pump'],
        'provision.device.operation.flow': 'pull',
      })
    }
  })

  const jobOnAll = (request: object = {}) =>
    createJob(at.house.client, {
      name: 'REFRESH_INFO',
      target: { append: { tags: ['pump'] } },
      schedule: { stop: { delayed: 3_600_000 } },
      operationParameters: { timeout: 3_600_000 },
      ...request,
    })

  test('it counts every operation that is open and every job that waits for a person, not those of the newest', async () => {
    const later = { schedule: { start: { delayed: 1_800_000 }, stop: { delayed: 3_600_000 } } }
    const jobs = [await jobOnAll({ userNotes: 'the oldest' })]
    for (let job = 1; job < JOBS; job++) jobs.push(await jobOnAll(job % 2 === 0 ? later : { active: false }))
    for (const { id } of jobs) {
      await expect.poll(async () => (await readJob(at.house.client, id)).report.summary.total).toBe(DEVICES)
    }
    const page = await at.visit('/')
    const tile = (label: string) => page.locator('.tile').filter({ hasText: label }).locator('.tile-value')
    await expect.poll(() => tile('open').textContent()).toBe(String(JOBS * DEVICES))
    await expect.poll(() => tile('job runs').textContent()).toBe('1')
    await page.getByText('7 scheduled, 7 idle or paused').waitFor()
    await page.getByRole('region', { name: 'What runs' }).getByText('the oldest').waitFor()
    const waiting = page.getByRole('region', { name: 'What needs a person' })
    await waiting.getByRole('link', { name: '7', exact: true }).click()
    await expect.poll(() => page.url()).toContain('show=IDLE')
    await expect.poll(() => page.getByRole('region', { name: 'Jobs' }).locator('tbody a').count()).toBe(7)
  })

  test('a paused job and a delivery that was given up wait for a person, each leads to where it is mended, and leaves once it is', async () => {
    const { id } = await jobOnAll({
      name: 'REBOOT_EQUIPMENT',
      parameters: { type: 'SOFTWARE' },
      callback: 'http://127.0.0.1:9/nobody',
      userNotes: 'held by hand',
    })
    const put = (active: boolean) =>
      at.house.call('PUT', `/north/v80/operation/jobs/${id}`, { job: { request: { active } } })
    await expect.poll(async () => (await readJob(at.house.client, id)).report.summary.status).toBe('IN_PROGRESS')
    expect((await put(false)).status).toBe(200)
    // As if its receiver had been tried for more than a day.
    const givenUp = async () => {
      await at.house.database.query(
        sql`update delivery set opened_at = opened_at - interval '2 days' where state = 'OPEN'`,
      )
      const { body } = await at.house.call<DeliveriesPage | undefined>('GET', `/north/v80/deliveries?job=${id}`)
      return body?.deliveries.map(each => [each.event, each.state])
    }
    await expect.poll(givenUp).toEqual([['jobStarted', 'GIVEN_UP']])

    const page = await at.visit('/')
    const waiting = page.getByRole('region', { name: 'What needs a person' })
    const group = (word: string) => waiting.locator('section').filter({ hasText: word })
    const line = group('to be resumed').getByRole('listitem')
    await line.getByText('held by hand').waitFor()
    expect(await group('Paused').getByRole('heading').innerText()).toMatch(/^Paused\s*1\s*to be resumed$/)
    const told = group('Given up')
    expect(await told.getByRole('heading').innerText()).toMatch(/^Given up\s*1\s*to be repeated$/)
    await told.getByRole('listitem').getByRole('link', { name: 'jobStarted to http://127.0.0.1:9/nobody' }).click()
    const row = page.getByRole('region', { name: 'Deliveries' }).locator('tbody tr')
    await row.filter({ hasText: 'Given up' }).getByRole('link', { name: id }).waitFor()
    expect(await row.count()).toBe(1)
    await row.getByRole('button', { name: 'Repeat' }).waitFor()

    await page.goBack()
    await group('Paused').getByRole('link', { name: '1', exact: true }).click()
    await expect.poll(() => page.url()).toContain('show=PAUSED')
    const jobs = page.getByRole('region', { name: 'Jobs' }).locator('tbody a')
    await expect
      .poll(async () => (await jobs.allTextContents()).map(each => each.includes('held by hand')))
      .toEqual([true])
    await page.goBack()
    await line.getByRole('link', { name: 'REBOOT_EQUIPMENT' }).click()
    await page.getByRole('button', { name: 'Resume' }).waitFor()
    expect(page.url()).toMatch(new RegExp(`/jobs/${id}$`))

    await page.goto(`${at.house.url}/console/`)
    await line.waitFor()
    await put(true)
    await group('Paused').waitFor({ state: 'detached' })
    await at.house.call('DELETE', `/north/v80/operation/jobs/${id}`)
  })

  test('the list of jobs is sorted by its heads, one way and the other, and its address keeps that', async () => {
    const small = { target: { append: { entities: ['pump-0'] } }, active: false, userNotes: 'the smallest' }
    const { id } = await jobOnAll(small)
    await expect.poll(async () => (await readJob(at.house.client, id)).report.summary.total).toBe(1)
    const page = await at.visit('/jobs')
    const totals = () =>
      page.getByRole('region', { name: 'Jobs' }).locator('tbody tr td:nth-child(4)').allTextContents()
    const head = page.getByRole('columnheader', { name: 'Total' })
    const button = head.getByRole('button')
    await button.click()
    await expect.poll(() => head.getAttribute('aria-sort')).toBe('descending')
    await expect.poll(async () => (await totals()).at(-1)).toBe('1')
    await button.click()
    await expect.poll(() => head.getAttribute('aria-sort')).toBe('ascending')
    await expect.poll(async () => (await totals())[0]).toBe('1')
    await page.reload()
    await expect.poll(async () => (await totals())[0]).toBe('1')
    expect(new Set(await totals())).toEqual(new Set(['1', String(DEVICES)]))
  })
})
