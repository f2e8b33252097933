import type { Page } from 'playwright-core'
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { openBalancer } from '../service/balancer.ts'
import { bringUpFleet } from '../service/fleet.ts'
import { ADMIN } from '../service/house.ts'
import { createJob, readJob } from '../service/jobs.ts'
import { type Console, confirm, hasBrowser, openConsole } from './browser.ts'
import { filledAt } from './chart-pixels.ts'

describe.skipIf(!hasBrowser)('the console', () => {
  let at: Console

  beforeAll(async () => {
    at = await openConsole()
    await bringUpFleet(at.house, {
      devices: 120,
      prefix: 'lamp',
      flows: { 'http-sync': 1, mqtt: 1 },
      fail: 0.1,
      seed: 7,
    })
  })

  test('the whole story: sign in, launch in four steps, watch it end live, look at a failure, and try again', async () => {
    const page = await at.visit('/', { as: false })
    await page.getByLabel('Email').fill(ADMIN)
    await page.getByRole('textbox', { name: 'Password' }).fill('wrong')
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByText('Wrong e-mail or password.', { exact: true }).waitFor()
    expect(await page.getByText('0x04').count()).toBe(0)
    await page.getByRole('textbox', { name: 'Password' }).fill(at.house.password)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByRole('heading', { name: 'Overview' }).waitFor()
    await page.getByText('drover · root').waitFor()

    // What.
    await page.getByRole('link', { name: 'Launch', exact: true }).click()
    await page.getByRole('heading', { name: 'Launch a job' }).waitFor()
    await page.getByRole('combobox', { name: 'Operation' }).fill('reboot')
    await page.getByRole('option', { name: /REBOOT_EQUIPMENT/ }).click()
    await page.getByRole('combobox', { name: 'Kind of reboot' }).click()
    await page.getByRole('option', { name: 'SOFTWARE' }).click()
    await page.getByRole('button', { name: 'Whom' }).click()
    // Whom.
    await page.getByText('A tag', { exact: true }).click()
    await page.getByLabel('Tag', { exact: true }).fill('lamp')
    await page.getByText('and 112 more').waitFor()
    await page.getByRole('button', { name: 'When' }).click()
    // When.
    await page.getByLabel('Notes').fill('All lamps')
    await page.getByRole('button', { name: 'Plan' }).click()
    // Plan: the count is typed, since it is large.
    const launch = page.getByRole('button', { name: 'Reboot on 120 devices' })
    await launch.waitFor()
    expect(await launch.isDisabled()).toBe(true)
    await page.getByLabel('Type 120 to confirm').fill('120')
    await launch.click()

    // The job ends under one's eyes.
    await page.getByRole('heading', { name: 'REBOOT_EQUIPMENT' }).waitFor()
    await page.getByText('Finished with errors').first().waitFor()
    await page
      .getByText(/^Live, as of/)
      .first()
      .waitFor()
    await page.getByRole('button', { name: 'Show these devices' }).first().click()
    expect(page.url()).toContain('result=ERROR_PROCESSING')
    const devices = page.getByRole('region', { name: 'Operations of the job' }).locator('tbody a')
    await devices.first().waitFor()
    await devices.first().click()
    await page.getByRole('heading', { name: 'Timeline' }).waitFor()
    await page.getByText('Raw messages').click()
    await page
      .getByText(/"resultCode": "ERROR_PROCESSING"/)
      .first()
      .waitFor()

    // Once more, for those that failed: the plan counts them.
    await page.getByRole('button', { name: 'Retry the unsuccessful' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByText(/This touches \d+ devices/).waitFor()
    await dialog.getByText('The same with curl').click()
    await dialog.getByText('operations.unsuccessfulIn').waitFor()
    const [, failed = ''] = /This touches (\d+) devices/.exec((await dialog.textContent()) ?? '') ?? []
    const ended = await readJob(at.house.client, new URL(page.url()).pathname.split('/')[3] ?? '')
    expect(Number(failed)).toBe(ended.report.summary.finished.error)
    await confirm(page, 'Retry the unsuccessful', Number(failed))
    await page.getByText(/Again for what did not succeed in/).waitFor()
  })

  test('a job is paused, resumed and cancelled, each after saying how many devices it touches', async () => {
    const { id } = await createJob(at.house.client, {
      name: 'REFRESH_INFO',
      target: { append: { tags: ['lamp'] } },
      schedule: { window: notNow() },
    })
    await expect.poll(async () => (await readJob(at.house.client, id)).report.summary.total).toBe(120)
    const page = await at.visit(`/jobs/${id}`)
    const act = async (button: string, devices: number) => {
      await page.getByRole('button', { name: button, exact: true }).click()
      await confirm(page, button, devices)
    }
    await act('Pause', 120)
    await page.getByText('Paused').first().waitFor()
    await act('Resume', 120)
    await page.getByText('In progress', { exact: true }).first().waitFor()
    await act('Cancel the job', 120)
    await page
      .getByText(/^Cancelled/)
      .first()
      .waitFor()
    expect(await page.getByRole('button', { name: 'Pause' }).count()).toBe(0)
  })

  test('what a profile may not do is not offered, nor does its address lead there', async () => {
    const viewer = { email: 'eyes@drover.test', password: 'only looking around' }
    await at.house.call('POST', '/north/v80/provision/users', { user: { ...viewer, profile: 'viewer' } })
    const { id } = await createJob(at.house.client, {
      name: 'REFRESH_INFO',
      target: { append: { entities: ['lamp-1'] } },
      active: false,
    })
    const page = await at.visit(`/jobs/${id}`, { as: viewer })
    await page.getByText('Idle').first().waitFor()
    for (const name of ['Activate', 'Cancel the job']) expect(await page.getByRole('button', { name }).count()).toBe(0)
    for (const name of ['Launch', 'Users', 'Audit']) {
      expect(await page.getByRole('link', { name, exact: true }).count()).toBe(0)
    }
    await page.goto(`${at.house.url}/console/launch`)
    await page.getByText('The profile you are signed in with may not do this.').waitFor()
    await page.goto(`${at.house.url}/console/devices/lamp-1`)
    await page.getByText('Provisioned').waitFor()
    expect(await page.getByRole('button', { name: 'Make a new key' }).count()).toBe(0)
  })

  test('who signs in next sees nothing of what the one before saw, not even while theirs is loaded', async () => {
    const neighbour = { email: 'next@drover.test', password: 'of another place' }
    await at.house.call('POST', '/north/v80/provision/organizations', { organization: { name: 'next-door' } })
    await at.house.call('POST', '/north/v80/provision/users', {
      user: { ...neighbour, profile: 'admin', domain: 'next-door' },
    })
    const page = await at.visit('/devices')
    const seen = page.getByRole('link', { name: 'lamp-0', exact: true })
    await seen.waitFor()
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.route('**/search/**', () => {})
    await page.getByLabel('Email').fill(neighbour.email)
    await page.getByRole('textbox', { name: 'Password' }).fill(neighbour.password)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByText('next-door · admin').waitFor()
    await page.getByRole('heading', { name: 'Devices', level: 1 }).waitFor()
    expect(await seen.count()).toBe(0)
  })

  test('what happens is told by the events alone, without a question asked', async () => {
    const { id } = await createJob(at.house.client, {
      name: 'REFRESH_INFO',
      target: { append: { tags: ['lamp'] } },
      schedule: { window: notNow() },
    })
    const page = await at.visit(`/jobs/${id}`)
    await page
      .getByText(/^Live, as of/)
      .first()
      .waitFor()
    await answerNothingButEvents(page)
    await at.house.call('PUT', `/north/v80/operation/jobs/${id}`, { job: { request: { active: false } } })
    await page.getByText('Paused', { exact: true }).first().waitFor()
    await at.house.call('DELETE', `/north/v80/operation/jobs/${id}`)
    await page.getByText('Cancelled', { exact: true }).first().waitFor()
  })

  test('the overview shows who is connected and how fast operations end, as it happens', async () => {
    const page = await at.visit('/')
    const connected = page.locator('.tile').filter({ hasText: 'devices are connected' })
    await expect.poll(() => connected.locator('.tile-value').textContent()).toBe('60')
    await connected.getByText(/^of 120;/).waitFor()
    const rate = page.getByRole('region', { name: 'Operations per second' }).locator('.panel-facts .strong')
    await expect.poll(() => rate.textContent()).toBe('0')
    await createJob(at.house.client, { name: 'REFRESH_INFO', target: { append: { tags: ['lamp'] } } })
    await expect.poll(async () => Number(await rate.textContent())).toBeGreaterThan(0)
    const failing = page.locator('.tile').filter({ hasText: /jobs? ha(s|ve) failures/ })
    await expect.poll(async () => Number(await failing.locator('.tile-value').textContent())).toBeGreaterThan(0)
  })

  test('the overview shows how fast operations ended before it was opened, and calls itself live only once it is', async () => {
    const { id } = await createJob(at.house.client, { name: 'REFRESH_INFO', target: { append: { tags: ['lamp'] } } })
    await expect
      .poll(async () => (await readJob(at.house.client, id)).report.summary.status, { timeout: 45_000 })
      .toMatch(/^FINISHED/)
    const page = await at.visit('/')
    await page.route('**/operation/events*', () => {})
    await page.reload()
    await page
      .getByText(/^As of/)
      .first()
      .waitFor()
    expect(await page.getByText(/^Live, as of/).count()).toBe(0)
    await page.unrouteAll()
    await page.reload()
    await page
      .getByText(/^Live, as of/)
      .first()
      .waitFor()
    const curve = page.getByRole('img', { name: /^Operations ended per second over the last ten minutes/ })
    await expect
      .poll(
        async () =>
          (
            await filledAt(
              curve,
              Array.from({ length: 400 }, (_, k) => k / 400),
            )
          ).some(Boolean),
        {
          timeout: 45_000,
        },
      )
      .toBe(true)
  })

  test('when the connection breaks the figures say how old they are, and catch up once it is back', async () => {
    const { id } = await createJob(at.house.client, {
      name: 'REFRESH_INFO',
      target: { append: { tags: ['lamp'] } },
      active: false,
    })
    const service = Number(new URL(at.house.url).port)
    const network = await openBalancer([service])
    const page = await at.visit(`/jobs/${id}`, { through: network.url })
    await page
      .getByText(/^Live, as of/)
      .first()
      .waitFor()
    at.forgive(/ERR_CONNECTION_REFUSED|ERR_CONNECTION_RESET|ERR_EMPTY_RESPONSE|ERR_INCOMPLETE_CHUNKED_ENCODING/)
    network.close()
    await page.locator('.as-of-broken').first().waitFor()
    // What is then heard comes by the events that were missed.
    await answerNothingButEvents(page)
    await at.house.call('DELETE', `/north/v80/operation/jobs/${id}`)
    const mended = await openBalancer([service], network.port)
    onTestFinished(() => mended.close())
    await page.getByText('Cancelled', { exact: true }).first().waitFor()
    await page
      .getByText(/^Live, as of/)
      .first()
      .waitFor()
  })

  test('the keyboard alone reaches a job, its actions and out again', async () => {
    const { id } = await createJob(at.house.client, {
      name: 'REFRESH_INFO',
      target: { append: { entities: ['lamp-1'] } },
      active: false,
    })
    const page = await at.visit('/jobs')
    const first = page.getByRole('region', { name: 'Jobs' }).locator('tbody a').first()
    await first.waitFor()
    await page.keyboard.press('Tab')
    expect(await focused(page)).toBe('Skip to content')
    await page.getByRole('textbox', { name: 'Find' }).focus()
    await page.keyboard.type(id)
    const found = page.getByRole('region', { name: 'Jobs' }).locator('tbody a')
    await expect.poll(async () => (await found.allTextContents()).length).toBe(1)
    await tabTo(page, `REFRESH_INFO ${id}`)
    await page.keyboard.press('Enter')
    await page.getByRole('button', { name: 'Activate' }).waitFor()
    await tabTo(page, 'Activate')
    await page.keyboard.press('Enter')
    const dialog = page.getByRole('dialog')
    await dialog.getByText('This touches 1 device.').waitFor()
    for (let step = 0; step < 8; step++) {
      await page.keyboard.press('Tab')
      expect(await page.evaluate(() => document.activeElement?.closest('[role=dialog]') !== null)).toBe(true)
    }
    await page.keyboard.press('Escape')
    await dialog.waitFor({ state: 'detached' })
    await expect.poll(() => focused(page)).toBe('Activate')
    expect((await readJob(at.house.client, id)).report.summary.status).toBe('IDLE')
    await page.goto(`${at.house.url}/console/jobs`)
    await first.focus()
    await page.keyboard.press('ArrowDown')
    await expect.poll(() => page.evaluate(() => document.activeElement?.closest('tr')?.dataset.index)).toBe('1')
  })

  test('a window drawn on the week becomes the window of the request', async () => {
    const page = await at.visit('/launch/when?type=REFRESH_INFO&device=lamp-1')
    await page.getByLabel('Only at certain hours').click()
    await page.getByRole('button', { name: 'Nothing' }).click()
    await page.getByRole('button', { name: 'MON 22 to 23' }).focus()
    await page.keyboard.press(' ')
    await page.keyboard.press('ArrowRight')
    await page.keyboard.press(' ')
    await page.getByRole('button', { name: 'TUE 0 to 1', exact: true }).click()
    await page.getByRole('button', { name: 'Plan' }).click()
    await page.getByText('The same with curl').click()
    await page.getByText('"start":"22:00:00Z","stop":"01:00:00Z"').waitFor()
  })
})

const focused = (page: Page) => page.evaluate(() => document.activeElement?.textContent)

/** Goes on with Tab until what has this text has the focus. */
async function tabTo(page: Page, text: string): Promise<void> {
  for (let step = 0; step < 60 && (await focused(page)) !== text; step++) await page.keyboard.press('Tab')
  expect(await focused(page)).toBe(text)
}

/** A window that opens in half a day: what runs within it goes on, and launches nothing. */
function notNow() {
  const hour = (from: number) => `${String((new Date().getUTCHours() + from) % 24).padStart(2, '0')}:00:00Z`
  return { weekly: [{ daily: { start: hour(12), stop: hour(13) } }] }
}

/** From now on every question is left without an answer; the stream of events is not. */
const answerNothingButEvents = (page: Page) =>
  page.route(
    ({ pathname }) => pathname.startsWith('/north/') && !pathname.endsWith('/events'),
    () => {},
  )
