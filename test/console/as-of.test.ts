/** Of when figures are, where the service is away: whatever is shown says how old it is, in amber and then in red. */
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { openBalancer } from '../service/balancer.ts'
import { createJob, jobEnded } from '../service/jobs.ts'
import { type Console, hasBrowser, openConsole } from './browser.ts'

describe.skipIf(!hasBrowser)('the age of what is shown', () => {
  let at: Console
  let ended = ''

  beforeAll(async () => {
    at = await openConsole()
    await at.house.provision('lamp-1')
    const target = { append: { entities: ['lamp-1'] } }
    ended = (await createJob(at.house.client, { name: 'REFRESH_INFO', target, active: false })).id
    const over = jobEnded(at.house.client, ended)
    await at.house.call('DELETE', `/north/v80/operation/jobs/${ended}`)
    await over
  })

  test('is told of lists and of ended jobs, too, which are asked for once, and passes when the service is back', async () => {
    at.forgive(/ERR_CONNECTION_REFUSED|ERR_CONNECTION_RESET|ERR_EMPTY_RESPONSE|ERR_INCOMPLETE_CHUNKED_ENCODING/)
    const service = Number(new URL(at.house.url).port)
    let network = await openBalancer([service])
    onTestFinished(() => network.close())
    const page = await at.visit('/account', { through: network.url })
    await page.clock.install()
    for (const [address, figures] of [
      ['/devices', 1],
      // The job, its course, what was cancelled of it, and its operations.
      [`/jobs/${ended}`, 4],
    ] as const) {
      const stream = page.waitForResponse(/operation\/events/)
      await page.goto(`${network.url}/console${address}`)
      await stream
      const all = page.locator('.as-of')
      await expect.poll(() => all.count()).toBe(figures)
      expect(await page.locator('.as-of-broken').count()).toBe(0)
      network.close()
      await page.clock.fastForward(11_000)
      await expect.poll(() => page.locator('.as-of-broken').count(), { timeout: 45_000 }).toBe(figures)
      expect(await all.first().textContent()).toMatch(/^No connection. Figures of .* s old; trying again.$/)
      // What is read aloud does not tick with the age.
      expect(new Set(await page.getByRole('alert').allTextContents())).toEqual(new Set(['No connection.']))
      await page.clock.fastForward(60_000)
      await expect.poll(() => page.locator('.as-of-lost').count(), { timeout: 45_000 }).toBe(figures)
      network = await openBalancer([service], network.port)
      await expect.poll(() => page.locator('.as-of-broken').count(), { timeout: 45_000 }).toBe(0)
    }
  })

  test('is not told where the service is there and only gives no stream of events', async () => {
    const page = await at.visit('/account')
    await page.clock.install()
    await page.route('**/operation/events*', route => route.fulfill({ status: 429, json: { errors: [] } }))
    await page.goto(`${at.house.url}/console/devices`)
    await page.getByText(/^As of/).waitFor()
    await page.clock.fastForward(60_000)
    // What was on its way when the clock leapt is tried once more.
    await expect.poll(() => page.locator('.as-of-broken').count(), { timeout: 45_000 }).toBe(0)
  })
})
