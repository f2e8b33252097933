import { beforeAll, describe, expect, test } from 'vitest'
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
