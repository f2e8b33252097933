import type { Page } from 'playwright-core'
import { beforeAll, describe, expect, test } from 'vitest'
import { sql } from '../../src/store/statement.ts'
import { createJob, readJob } from '../service/jobs.ts'
import { type Console, hasBrowser, openConsole } from './browser.ts'

const DEVICES = 100_000
const DEVICES_AT_ONCE = 50_000
/** Rows of the table that may be in the document at a time. */
const ROWS_MAX = 120
/** What a step of scrolling may cost the page's thread, in CPU time, which a busy machine makes little longer: half of the steps, and 95 of 100. */
const STEP_CPU_MS = 80
const STEP_CPU_MS_MAX = 240
const STEPS = 120
/** What is asked anew because the job goes on, and how often at most; the view asks for some things by the clock besides. */
const ASK_ANEW_MS = 1_500
const ASKED_AT_A_TIME = 8
/** Changes of the figures that are watched. */
const CHANGES = 10

describe.skipIf(!hasBrowser)(`a job of ${DEVICES.toLocaleString('en')} operations`, () => {
  let at: Console
  let job = ''

  beforeAll(async () => {
    at = await openConsole({ DROVER_ROLES: 'north,engine' })
    const { house } = at
    // Provisioned as the bulk interface would store them, in few statements: what is measured here is the console.
    await house.provision('meter-0', { 'provision.administration.tags': ['many'] })
    for (let first = 1; first < DEVICES; first += DEVICES_AT_ONCE) {
      await house.database.query(sql`
        insert into entity (partition, entity, organization, identifier, resource_type, document, tags, flow, created_at, updated_at)
        select (n % 256)::smallint, e.entity + n, e.organization, 'meter-' || n, e.resource_type,
               e.document || jsonb_build_object('provision.device.identifier', 'meter-' || n), e.tags, 'pull', e.created_at, e.updated_at
          from entity e cross join generate_series(${first}::int, ${Math.min(first + DEVICES_AT_ONCE, DEVICES) - 1}::int) n where e.identifier = 'meter-0'`)
    }
    const made = await createJob(house.client, {
      name: 'REFRESH_INFO',
      target: { append: { tags: ['many'] } },
      schedule: { stop: { delayed: 3_600_000 }, scattering: { maxSpread: 50 } },
    })
    job = made.id
    while ((await readJob(house.client, job)).report.summary.total < DEVICES) {
      await new Promise(resolve => setTimeout(resolve, 250))
    }
  })

  test('its table is scrolled to the very end with few rows in the document, at a small cost for each step', async () => {
    const page = await at.visit(`/jobs/${job}`)
    const table = page.getByRole('region', { name: 'Operations of the job' })
    await table.locator('tbody a').first().waitFor()
    await table.scrollIntoViewIfNeeded()
    const spent = await costOf(page)
    const costs: number[] = []
    let rows = 0
    let before = await spent()
    for (let step = 0; step < STEPS; step++) {
      const shown = await table.evaluate(
        async (place, [step, steps]) => {
          // A wheel turned fast, then the scroll bar dragged.
          place.scrollTop += step < steps / 2 ? 240 : place.scrollHeight / steps
          await new Promise(resolve => requestAnimationFrame(() => requestAnimationFrame(resolve)))
          return place.querySelectorAll('tbody tr').length
        },
        [step, STEPS] as const,
      )
      rows = Math.max(rows, shown)
      const now = await spent()
      costs.push(now - before)
      before = now
    }
    await table.evaluate(place => {
      place.scrollTop = place.scrollHeight
    })
    const inOrder = costs.toSorted((a, b) => a - b)
    await table.locator(`tr[aria-rowindex="${DEVICES + 1}"] a`).waitFor()
    expect(rows).toBeLessThan(ROWS_MAX)
    expect(await table.locator('tbody tr').count()).toBeLessThan(ROWS_MAX)
    expect(inOrder[Math.floor(STEPS / 2)]).toBeLessThan(STEP_CPU_MS)
    expect(inOrder[Math.floor(STEPS * 0.95)]).toBeLessThan(STEP_CPU_MS_MAX)
  })

  test('its figures follow the job while it goes on, and what depends on them is asked for seldom, however often it changes', async () => {
    const page = await at.visit(`/jobs/${job}`)
    await page
      .getByText(/^Live, as of/)
      .first()
      .waitFor()
    const waiting = page.getByRole('button', { name: /Waiting for connection/ }).locator('.legend-count')
    await waiting.waitFor()
    let asked = 0
    let askedForCourse = 0
    page.on('request', request => {
      if (request.url().includes('/north/')) asked += 1
      if (request.url().endsWith('/progress')) askedForCourse += 1
    })
    const startedAt = performance.now()
    const seen = new Set<string | null>()
    await expect
      .poll(async () => seen.add(await waiting.textContent()).size, { interval: 100 })
      .toBeGreaterThan(CHANGES)
    const turns = (performance.now() - startedAt) / ASK_ANEW_MS + 1
    expect(asked).toBeLessThan(turns * ASKED_AT_A_TIME)
    expect(await page.locator('tbody tr').count()).toBeLessThan(2 * ROWS_MAX)
    // What events tell of the job does not pass for news of its course.
    await expect.poll(() => askedForCourse).toBeGreaterThan(1)
  })
})

/** Begins to count what the page's thread works; the answer tells how much it was, in ms of CPU time. */
async function costOf(page: Page): Promise<() => Promise<number>> {
  const session = await page.context().newCDPSession(page)
  await session.send('Performance.enable', { timeDomain: 'threadTicks' })
  const read = async () => {
    const { metrics } = await session.send('Performance.getMetrics')
    return (metrics.find(each => each.name === 'TaskDuration')?.value ?? Number.NaN) * 1_000
  }
  const before = await read()
  return async () => (await read()) - before
}
