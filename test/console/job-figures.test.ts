/** What the screen of a job tells in words and numbers: how its operations failed, how far it has come, and when its end is expected. */
import type { Page } from 'playwright-core'
import { beforeAll, describe, expect, test } from 'vitest'
import type { FailuresView, ProgressView } from '../../src/contract/job-insight.ts'
import { createJob, jobEnded, readJob } from '../service/jobs.ts'
import { type Console, hasBrowser, openConsole } from './browser.ts'
import { pulling } from './pulling.ts'

const HOUR_MS = 3_600_000
const NO_SPACE = { resultCode: 'ERROR_PROCESSING', resultDescription: 'no space left' }
const FULL = { name: 'INSTALL', result: 'ERROR', description: 'disk full' }

/** What each device answers. Its last step that failed makes the group; the others lie near it, and belong elsewhere. */
const ANSWERS: Readonly<Record<string, Record<string, unknown>>> = {
  'good-1': { resultCode: 'SUCCESSFUL', steps: [] },
  'good-2': { resultCode: 'SUCCESSFUL', steps: [] },
  'full-1': { ...NO_SPACE, steps: [{ name: 'DOWNLOAD', result: 'SUCCESSFUL' }, FULL] },
  'full-2': { ...NO_SPACE, steps: [FULL] },
  'further-1': { ...NO_SPACE, steps: [FULL, { name: 'VERIFY', result: 'ERROR', description: 'no image' }] },
  'bare-1': { ...NO_SPACE, steps: [] },
  'silent-1': { resultCode: 'ERROR_PROCESSING', steps: [] },
}
const LATE = 'late-1'

/** The groups as they are shown: how many, how, at which step, what was said; and whom each leads to. */
const GROUPS: readonly (readonly [cells: readonly string[], devices: readonly string[]])[] = [
  [
    ['2', 'Error processing', 'INSTALL', 'no space left · disk full'],
    ['full-1', 'full-2'],
  ],
  [['1', 'Error processing', 'VERIFY', 'no space left · no image'], ['further-1']],
  [['1', 'Error processing', '–', 'no space left'], ['bare-1']],
  [['1', 'Error processing', '–', '–'], ['silent-1']],
  [['1', 'Error processingFinished out of time', '–', 'no space left'], [LATE]],
]

describe.skipIf(!hasBrowser)('the figures of a job in the console', () => {
  let at: Console
  let job = ''
  const all = [...Object.keys(ANSWERS), LATE]

  beforeAll(async () => {
    at = await openConsole()
    const { taken, answer } = await pulling(at.house, 'shed', all)
    const made = await createJob(at.house.client, {
      name: 'REFRESH_INFO',
      target: { append: { tags: ['shed'] } },
      operationParameters: { timeout: HOUR_MS },
    })
    job = made.id
    const late = await taken(LATE)
    for (const [device, members] of Object.entries(ANSWERS)) await answer(device, await taken(device), members)
    await at.house.call('DELETE', `/north/v80/operation/jobs/${job}`)
    await jobEnded(at.house.client, job)
    await answer(LATE, late, { ...NO_SPACE, steps: [] })
    const { finishedOutOfTime } = (await readJob(at.house.client, job)).report.summary
    expect(finishedOutOfTime.error).toBe(1)
  })

  const read = async <Read>(id: string, what: string) =>
    (await at.house.call<Read>('GET', `/north/v80/operation/jobs/${id}/${what}`)).body

  const failures = (page: Page) => page.getByRole('region', { name: 'Failures' })
  const cellsOf = (page: Page) =>
    failures(page)
      .locator('tbody tr')
      .evaluateAll(rows =>
        rows.map(row => [...row.querySelectorAll('td')].slice(0, 4).map(cell => (cell as HTMLElement).innerText)),
      )
  const words = (cells: readonly string[]) => cells.map(cell => cell.replace(/\s*\n\s*/g, '')).join(' | ')

  test('the failures are told in groups by result, step and description, each with its number', async () => {
    const page = await at.visit(`/jobs/${job}`)
    await failures(page).locator('tbody tr').first().waitFor()
    const shown = (await cellsOf(page)).map(words)
    expect(shown.toSorted()).toEqual(GROUPS.map(([cells]) => words(cells)).toSorted())
    expect(shown[0]).toBe(words(GROUPS[0]?.[0] ?? []))
    const { failures: told } = await read<FailuresView>(job, 'failures')
    expect(told.reduce((sum, each) => sum + each.count, 0)).toBe(all.length - 2)
  })

  test('each group leads to its devices and to no others, and the address keeps which they are', async () => {
    const page = await at.visit(`/jobs/${job}`)
    const devices = page.getByRole('region', { name: 'Operations of the job' }).locator('tbody a')
    await expect.poll(() => devices.count()).toBe(all.length)
    const shown = (await cellsOf(page)).map(words)
    for (const [cells, expected] of GROUPS) {
      const row = failures(page)
        .locator('tbody tr')
        .nth(shown.indexOf(words(cells)))
      await row.getByRole('button', { name: 'Show these devices' }).click()
      await expect.poll(async () => (await devices.allTextContents()).toSorted()).toEqual(expected)
      await page.getByText('Shown:').getByText('Error processing').waitFor()
      expect(new URL(page.url()).searchParams.get('result')).toBe('ERROR_PROCESSING')
      await page.reload()
      await expect.poll(async () => (await devices.allTextContents()).toSorted()).toEqual(expected)
      await failures(page).locator('tbody tr').first().waitFor()
    }
    await page.getByRole('button', { name: 'Show all' }).click()
    await expect.poll(() => devices.count()).toBe(all.length)
  })

  const course = (page: Page) => page.getByRole('region', { name: 'Plan and progress' })
  const keys = (page: Page) => course(page).locator('.chart-key li').allTextContents()

  test('the course of an ended job has its last values beside it and at its end, and when that was', async () => {
    const page = await at.visit(`/jobs/${job}`)
    await expect
      .poll(() => keys(page))
      .toEqual([`Planned launches${all.length}`, `Launched${all.length}`, `Ended${all.length}`, 'Successful2'])
    const { finishedDate } = (await readJob(at.house.client, job)).report.execution
    await course(page)
      .getByText(/^Ended /)
      .first()
      .waitFor()
    expect(await endOf(page)).toBe(Date.parse(finishedDate))
    const plot = course(page).locator('.u-over')
    const { width = 0, height = 0 } = (await plot.boundingBox()) ?? {}
    await plot.hover({ position: { x: width - 2, y: height / 2 } })
    await expect
      .poll(async () => ((await course(page).locator('.chart-tip').textContent()) ?? '').split('\n').slice(1, -1))
      .toEqual(expect.arrayContaining([`Launched ${all.length}`, `Ended ${all.length}`, 'Successful 2']))
  })

  test('a job that goes on tells when its end is expected, in the zone of the viewer, and how far it has come', async () => {
    const { id } = await createJob(at.house.client, {
      name: 'REFRESH_INFO',
      target: { append: { tags: ['shed'] } },
      schedule: { stop: { delayed: 48 * HOUR_MS }, scattering: { maxSpread: 50 } },
      operationParameters: { timeout: HOUR_MS },
    })
    // Of eight over a day, the first goes at once.
    await expect
      .poll(async () => (await readJob(at.house.client, id)).report.summary.inProgress)
      .toMatchObject({
        waitingForConnection: 1,
        scheduled: all.length - 1,
      })
    const page = await at.visit(`/jobs/${id}`)
    await course(page).getByText('Expected end').waitFor()
    await expect.poll(() => keys(page)).toEqual(['Planned launches1', 'Launched1', 'Ended0', 'Successful0'])
    const { expectedEndDate } = await read<ProgressView>(id, 'progress')
    expect(Math.abs((await endOf(page)) - Date.parse(expectedEndDate ?? ''))).toBeLessThan(HOUR_MS)
    // A pause is shown as such: the plan does not run on into what is to come.
    await at.house.call('PUT', `/north/v80/operation/jobs/${id}`, { job: { request: { active: false } } })
    await course(page)
      .getByText(/^Paused since .+: nothing more is launched until it is resumed$/)
      .waitFor()
    await course(page)
      .getByRole('img', { name: /^Operations over time, paused: Planned, without the pause/ })
      .waitFor()
    await expect.poll(() => course(page).getByText('Expected end').count()).toBe(0)
    await at.house.call('PUT', `/north/v80/operation/jobs/${id}`, { job: { request: { active: true } } })
    await course(page).getByText('Expected end').waitFor()
    await at.house.call('DELETE', `/north/v80/operation/jobs/${id}`)
  })

  test('a job whose end nobody can tell says so', async () => {
    const target = { append: { tags: ['shed'] } }
    const { id } = await createJob(at.house.client, { name: 'REFRESH_INFO', target, active: false })
    await expect.poll(async () => (await readJob(at.house.client, id)).report.summary.total).toBe(all.length)
    const page = await at.visit(`/jobs/${id}`)
    await course(page).getByText('When it ends cannot be told yet').waitFor()
    expect((await read<ProgressView>(id, 'progress')).expectedEndDate).toBeNull()
  })

  /** The instant that the screen gives as the end, having checked that it reads as the clock of Madrid has it. */
  async function endOf(page: Page): Promise<number> {
    const shown = course(page).locator('.panel-facts time').first()
    const at = Date.parse((await shown.getAttribute('datetime')) ?? '')
    const clock = new Intl.DateTimeFormat('en-GB', { timeStyle: 'medium', timeZone: 'Europe/Madrid' }).format(at)
    expect(await shown.textContent()).toContain(clock)
    expect(await shown.getAttribute('title')).toMatch(/ UTC$/)
    return at
  }
})
