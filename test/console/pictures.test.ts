/**
 * The pictures of the documents: a campaign on pretend devices half-way through, as an operator meets it. They go where
 * `DROVER_DOCS_IMAGES` says; else they are taken early, into a folder that is thrown away, so that it is known that they can be.
 */
import { mkdtemp, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { bringUpFleet } from '../service/fleet.ts'
import { createJob, readJob, updateRequest } from '../service/jobs.ts'
import { type Console, hasBrowser, openConsole } from './browser.ts'

const IMAGES = process.env.DROVER_DOCS_IMAGES
const DEVICES = 600
/** How much of the campaign has ended by then. */
const DONE = IMAGES ? 0.55 : 0.1
const TASKS = '/north/v80/operation/tasks'

describe.skipIf(!hasBrowser)('the pictures of the documents', () => {
  let at: Console
  let campaign = ''
  let folder = IMAGES ?? ''

  afterAll(async () => {
    if (!IMAGES) await rm(folder, { recursive: true, force: true })
  })
  beforeAll(async () => {
    if (!IMAGES) folder = await mkdtemp(path.join(tmpdir(), 'drover-pictures-'))
    at = await openConsole()
    const { house } = at
    await bringUpFleet(house, {
      devices: DEVICES,
      prefix: 'meter',
      flows: { mqtt: 2, 'http-sync': 1, pull: 1 },
      fail: 0.07,
      silent: 0.02,
      latency: { shape: 'exponential', meanMs: 1_500 },
    })
    for (let cellar = 1; cellar <= 40; cellar++) {
      await house.provision(`cellar-${cellar}`, {
        'provision.administration.tags': ['cellar'],
        'provision.device.operation.flow': 'pull',
      })
    }
    for (const [id, name, repeating, tag] of [
      ['nightly', 'Nightly diagnostics', { pattern: { time: '02:30:00+01:00' } }, 'meter'],
      ['weekly', 'Clocks', { pattern: { time: '05:00:00+01:00', weekly: { days: ['SUN'] } } }, 'meter'],
      ['cellars', 'Cellars', { period: { each: 6, unit: 'HOURS' } }, 'cellar'],
    ] as const) {
      const job = { request: { name: 'REFRESH_INFO', target: { append: { tags: [tag] } } } }
      const { status, body } = await house.call('POST', TASKS, { task: { id, name, schedule: { repeating }, job } })
      expect(status, JSON.stringify(body)).toBe(201)
    }
    const cellars = { append: { tags: ['cellar'] } }
    await createJob(house.client, {
      name: 'REBOOT_EQUIPMENT',
      parameters: { type: 'SOFTWARE' },
      target: cellars,
      schedule: { stop: { delayed: 10_800_000 } },
      operationParameters: { timeout: 3_600_000 },
      userNotes: 'Cellars, once they call',
    })
    await createJob(house.client, {
      name: 'FACTORY_RESET',
      target: cellars,
      active: false,
      userNotes: 'To be approved',
    })
    campaign = (
      await createJob(house.client, {
        ...updateRequest('meter', { userNotes: 'Gateway 2.0 for all meters' }),
        target: { append: { tags: ['meter'] } },
        schedule: { stop: { delayed: 400_000 }, scattering: { maxSpread: 50 } },
        operationParameters: { timeout: 60_000 },
      })
    ).id
    while ((await readJob(house.client, campaign)).report.summary.finished.total < DEVICES * DONE) {
      await new Promise(resolve => setTimeout(resolve, 1_000))
    }
  }, 500_000)

  const take = async (page: Page, name: string) => {
    await expect.poll(() => page.locator('.spinner').count()).toBe(0)
    const file = path.join(folder, `${name}.png`)
    await page.screenshot({ path: file })
    expect((await stat(file)).size).toBeGreaterThan(10_000)
  }

  test('are taken while a campaign is under way', async () => {
    const page = await at.visit('/')
    await page.getByRole('region', { name: 'What runs' }).getByText('Gateway 2.0').waitFor()
    await page.getByText(/^Live, as of/).waitFor()
    const rate = page.getByRole('region', { name: 'Operations per second' }).locator('.panel-facts .strong')
    await expect.poll(() => rate.textContent()).not.toBe('0')
    await take(page, 'overview')
    await page.goto(`${at.house.url}/console/jobs/${campaign}`)
    await page.getByRole('button', { name: 'Show these devices' }).first().waitFor()
    await page.locator('.u-over').waitFor()
    await take(page, 'job')
    await page.goto(`${at.house.url}/console/tasks?view=calendar`)
    await page.getByRole('link', { name: 'Nightly diagnostics' }).first().waitFor()
    await take(page, 'calendar')
    await page.goto(`${at.house.url}/console/launch/whom?type=REFRESH_INFO`)
    await page.getByText('A tag', { exact: true }).click()
    await page.getByLabel('Tag', { exact: true }).fill('meter')
    await page.getByRole('region', { name: 'Found now' }).getByText(String(DEVICES)).waitFor()
    await page.getByRole('button', { name: 'When' }).click()
    await page.getByLabel('Only at certain hours').click()
    await page.getByRole('radiogroup', { name: 'When it stops' }).getByText('After a while').click()
    await page.getByLabel('Minutes after the start').fill('4320')
    await page.getByLabel('Spread over the time, per cent').fill('80')
    await page.getByRole('img', { name: /^Launches per hour/ }).waitFor()
    await take(page, 'launch-when')
  })
})
