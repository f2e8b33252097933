/**
 * The table of a million operations: a real browser on the real console, whose job has a million of them because the answers between say
 * so. Which page is asked for by what, which row stands where, and how few there are in the document.
 */
import type { Page, Route } from 'playwright-core'
import { beforeAll, describe, expect, test } from 'vitest'
import type { JobView } from '../../src/contract/client/client.ts'
import { createJob, jobEnded, readOperations } from '../service/jobs.ts'
import { type Console, hasBrowser, openConsole } from './browser.ts'

const ROWS = 1_000_000
const ROWS_OF_PART = 400_000
/** Rows of the table that may be in the document at a time. */
const ROWS_MAX = 120
/** Rows that a page of the interface holds, as the console asks for them. */
const PAGE = 100

describe.skipIf(!hasBrowser)('a job of a million operations', () => {
  let at: Console
  let job = ''
  let template: object = {}

  beforeAll(async () => {
    at = await openConsole({ DROVER_ROLES: 'north,engine' })
    const { house } = at
    await house.provision('meter-0')
    const target = { append: { entities: ['meter-0'] } }
    job = (await createJob(house.client, { name: 'REFRESH_INFO', target, active: false })).id
    await house.call('DELETE', `/north/v80/operation/jobs/${job}`)
    await jobEnded(house.client, job)
    template = (await readOperations(house.client, job))[0] ?? {}
  })

  /** Opens the job as one of a million; what its pages were asked for by is noted: a number, or the cursor of the page before. */
  async function opened() {
    const page = await at.visit('/account')
    const asked: string[] = []
    const answers = async (route: Route) => {
      const { searchParams } = new URL(route.request().url())
      const [start, cursor, size] = ['start', 'cursor', 'size'].map(name => searchParams.get(name))
      asked.push(cursor ?? `start ${start}`)
      expect(Number(size)).toBe(PAGE)
      const first =
        cursor === null || cursor === undefined ? (Number(start) - 1) * PAGE : Number(/\d+/.exec(cursor)?.[0])
      const operations = Array.from({ length: Math.min(PAGE, ROWS - first) }, (_, index) => ({
        ...template,
        operationId: `${job}-00-${(first + index).toString(16).padStart(16, '0')}`,
        entityId: `meter-${first + index}`,
      }))
      const next = first + operations.length
      const told = { number: first / PAGE + 1, of: ROWS / PAGE, ...(next < ROWS && { cursor: `after ${next}` }) }
      await route.fulfill({ json: { page: told, operations } })
    }
    const [ofJob, ofOperations] = [`/operation/jobs/${job}`, `/operation/jobs/${job}/operations`]
    await page.route(({ pathname }) => pathname.endsWith(ofOperations), answers)
    await page.route(
      ({ pathname }) => pathname.endsWith(ofJob),
      async route => {
        const response = await route.fetch()
        const told = (await response.json()) as JobView
        told.report.summary.total = ROWS
        await route.fulfill({ response, json: told })
      },
    )
    await page.goto(`${at.house.url}/console/jobs/${job}`)
    const table = page.getByRole('region', { name: 'Operations of the job' })
    await table.locator('tbody a').first().waitFor()
    return { page, table, asked }
  }

  /** The rows that stand in the document: the number each bears in the table, from 0, and its device. */
  const rowsOf = (page: Page) =>
    page
      .getByRole('region', { name: 'Operations of the job' })
      .locator('tbody tr[aria-rowindex]:has(a)')
      .evaluateAll(rows =>
        rows.map(row => [Number(row.ariaRowIndex) - 2, row.querySelector('a')?.textContent] as const),
      )

  /** Waits for a row, with which every other one in the document must stand in its own place. */
  async function inPlace(page: Page, row: number): Promise<void> {
    await expect.poll(async () => (await rowsOf(page)).some(([index]) => index === row)).toBe(true)
    const rows = await rowsOf(page)
    for (const [index, device] of rows) expect(device).toBe(`meter-${index}`)
    expect(rows.length).toBeLessThan(ROWS_MAX)
  }

  test('scrolled along, each page is asked for by the cursor of the one before; jumped to, by its number', async () => {
    const { page, table, asked } = await opened()
    await inPlace(page, 0)
    expect(asked).toEqual(['start 1'])
    for (const row of [60, 140, 260, 340]) {
      await table.evaluate((place, first) => place.scrollTo(0, first * 36), row)
      await inPlace(page, row)
    }
    expect(asked).toEqual(['start 1', 'after 100', 'after 200', 'after 300'])

    await table.evaluate(place => place.scrollTo(0, 250_050 * 36))
    await inPlace(page, 250_050)
    expect(asked.slice(4)).toEqual(['start 2501'])
    await table.evaluate(place => place.scrollTo(0, 250_150 * 36))
    await inPlace(page, 250_150)
    expect(asked.slice(4)).toEqual(['start 2501', 'after 250100'])
  })

  test('beyond what a browser scrolls over it goes on part by part, to the very last row', async () => {
    const { page, table, asked } = await opened()
    const parts = page.getByRole('navigation', { name: 'Parts of the table' }).getByRole('button')
    expect(await parts.allTextContents()).toEqual(['1 – 400,000', '400,001 – 800,000', '800,001 – 1,000,000'])
    await table.evaluate(place => place.scrollTo(0, place.scrollHeight))
    await inPlace(page, ROWS_OF_PART - 1)
    await parts.nth(1).click()
    await inPlace(page, ROWS_OF_PART)
    await parts.nth(2).click()
    await inPlace(page, 2 * ROWS_OF_PART)
    await table.evaluate(place => place.scrollTo(0, place.scrollHeight))
    await inPlace(page, ROWS - 1)
    expect(await table.locator('table').getAttribute('aria-rowcount')).toBe(String(ROWS + 1))
    expect(asked.at(-1)).toBe(`start ${ROWS / PAGE}`)
  })

  test('what is chosen in a late part is shown from its own beginning', async () => {
    const { page, table } = await opened()
    await page.getByRole('navigation', { name: 'Parts of the table' }).getByRole('button').last().click()
    await inPlace(page, 2 * ROWS_OF_PART)
    await page.getByRole('button', { name: /^Cancelled by user/ }).click()
    await expect.poll(() => table.locator('tbody a').allTextContents()).toEqual(['meter-0'])
    expect(await page.getByRole('navigation', { name: 'Parts of the table' }).count()).toBe(0)
  })
})
