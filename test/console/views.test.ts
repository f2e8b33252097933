import { mkdir } from 'node:fs/promises'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Page } from 'playwright-core'
import { beforeAll, describe, expect, test } from 'vitest'
import { bringUpFleet } from '../service/fleet.ts'
import { createJob, readJob } from '../service/jobs.ts'
import { accessibilityFaults, type Console, hasBrowser, openConsole } from './browser.ts'

/** Where pictures for the documents go; none are taken where it is not told. */
const IMAGES = process.env.DROVER_DOCS_IMAGES

interface View {
  readonly name: string
  readonly address: () => string
  /** what is there once the view is */
  readonly shows: string
}

let job = ''
let operation = ''

const views: readonly View[] = [
  { name: 'overview', address: () => '/', shows: 'Operations per second' },
  { name: 'jobs', address: () => '/jobs', shows: 'Meters of the north' },
  { name: 'job', address: () => `/jobs/${job}`, shows: 'Show these devices' },
  { name: 'operation', address: () => `/jobs/${job}/operations/${operation}`, shows: 'Timeline' },
  { name: 'launch-what', address: () => '/launch/what?type=UPDATE', shows: 'Version of the bundle' },
  { name: 'launch-whom', address: () => '/launch/whom?type=REFRESH_INFO&device=meter-1', shows: 'Found now' },
  { name: 'launch-when', address: () => '/launch/when?type=REFRESH_INFO&device=meter-1', shows: 'Scattering' },
  { name: 'launch-plan', address: () => '/launch/plan?type=REFRESH_INFO&device=meter-1', shows: 'Launch on 1 device' },
  { name: 'tasks', address: () => '/tasks', shows: 'Nightly refresh' },
  { name: 'calendar', address: () => '/tasks?view=calendar', shows: 'Nightly refresh' },
  { name: 'task', address: () => '/tasks/nightly', shows: 'every day at 02:30:00+01:00' },
  { name: 'new-task', address: () => '/tasks/new/when?type=REFRESH_INFO&device=meter-1', shows: 'How often' },
  { name: 'types', address: () => '/types', shows: 'Restarts the device.' },
  { name: 'catalog', address: () => '/types?view=catalog', shows: 'Clone' },
  { name: 'type', address: () => '/types/REBOOT_EQUIPMENT', shows: 'Kind of reboot' },
  { name: 'devices', address: () => '/devices', shows: 'meter-1' },
  { name: 'device', address: () => '/devices/meter-1', shows: 'battery.level' },
  { name: 'deliveries', address: () => '/deliveries', shows: 'jobFinished' },
  { name: 'audit', address: () => '/audit', shows: '/north/v80/operation/jobs' },
  { name: 'users', address: () => '/users', shows: 'New user' },
  { name: 'account', address: () => '/account', shows: 'Change your password' },
]

describe.skipIf(!hasBrowser)('every view', () => {
  let at: Console

  beforeAll(async () => {
    at = await openConsole()
    const { house } = at
    const fleet = await bringUpFleet(house, {
      devices: 24,
      prefix: 'meter',
      flows: { 'http-sync': 1, pull: 1 },
      fail: 0.3,
    })
    await house.call('POST', '/south/v80/devices/meter-1/collect/iot', {
      version: '8.0',
      datastreams: [{ id: 'battery.level', datapoints: [{ value: 87 }] }],
    })
    const made = await createJob(house.client, {
      name: 'REFRESH_INFO',
      target: { append: { tags: ['meter'] } },
      callback: 'http://127.0.0.1:9/nobody',
      userNotes: 'Meters of the north',
    })
    job = made.id
    await createJob(house.client, {
      name: 'REBOOT_EQUIPMENT',
      target: { append: { tags: ['meter'] } },
      active: false,
      userNotes: 'Waits for a person',
    })
    await house.call('POST', '/north/v80/operation/tasks', {
      task: {
        id: 'nightly',
        name: 'Nightly refresh',
        schedule: { repeating: { pattern: { time: '02:30:00+01:00' } } },
        job: { request: { name: 'REFRESH_INFO', target: { append: { tags: ['meter'] } } } },
      },
    })
    while (!(await readJob(house.client, job)).report.summary.status.startsWith('FINISHED')) await sleep(100)
    operation = (await house.operationOf(job))?.operationId ?? ''
    await fleet.stop()
  })

  /** Waits until the view is there, and nothing of it is still being loaded. */
  async function seen(page: Page, { shows }: View): Promise<void> {
    await page.getByText(shows, { exact: false }).first().waitFor({ state: 'attached' })
    await expect.poll(() => page.locator('.spinner').count(), { timeout: 30_000 }).toBe(0)
  }

  test.each(views)(
    '$name keeps to WCAG AA in both schemes and to the content security policy, and fits a phone',
    async view => {
      const page = await at.visit(view.address())
      await seen(page, view)
      expect(await accessibilityFaults(page)).toEqual([])
      await picture(page, view.name)

      await page.emulateMedia({ colorScheme: 'dark', reducedMotion: 'reduce' })
      await page.locator('html[data-mantine-color-scheme="dark"]').waitFor()
      expect(await accessibilityFaults(page)).toEqual([])
      if (view.name === 'job') await picture(page, 'job-dark')

      await page.setViewportSize({ width: 390, height: 844 })
      await expect.poll(() => tooWide(page), { timeout: 10_000 }).toEqual([])
      if (view.name === 'job') await picture(page, 'job-phone')
    },
  )

  test('an address that is no view says so, and so does the door', async () => {
    const page = await at.visit('/nowhere')
    await page.getByText('Nothing stands at this address.').waitFor()
    const door = await at.visit('/jobs', { as: false })
    await door.getByRole('heading', { name: 'Sign in to Drover' }).waitFor()
    expect(await accessibilityFaults(door)).toEqual([])
    await picture(door, 'sign-in')
  })
})

async function picture(page: Page, name: string): Promise<void> {
  if (!IMAGES) return
  await mkdir(IMAGES, { recursive: true })
  await page.screenshot({ path: path.join(IMAGES, `${name}.png`) })
}

/** What reaches beyond a narrow screen, outside of what scrolls in itself. */
function tooWide(page: Page): Promise<unknown[]> {
  return page.evaluate(() => {
    const { documentElement: html } = document
    const place = document.querySelector('.content-scroll') ?? html
    const isWider = html.scrollWidth > html.clientWidth || place.scrollWidth > place.clientWidth
    const reaches = [...place.querySelectorAll('*')].filter(
      each => each.getBoundingClientRect().right > innerWidth && !each.closest('.table-scroll, .scroll-x'),
    )
    return isWider ? [place.scrollWidth, ...reaches.map(each => each.outerHTML.slice(0, 120))] : []
  })
}
