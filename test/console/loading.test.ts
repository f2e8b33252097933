/** What the console loads only when it is shown, where the network or an upgrade gets between. */
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { openBalancer } from '../service/balancer.ts'
import { type Console, hasBrowser, openConsole } from './browser.ts'

describe.skipIf(!hasBrowser)('a view that is yet to be loaded', () => {
  let at: Console

  beforeAll(async () => {
    at = await openConsole()
  })

  test('is waited for while the network is gone, and shown once it is back', async () => {
    const service = Number(new URL(at.house.url).port)
    const network = await openBalancer([service])
    const page = await at.visit('/jobs', { through: network.url })
    await page.getByRole('heading', { name: 'Jobs', level: 1 }).waitFor()
    at.forgive(/ERR_CONNECTION_REFUSED|ERR_CONNECTION_RESET|ERR_EMPTY_RESPONSE|ERR_INCOMPLETE_CHUNKED_ENCODING/)
    network.close()
    const refused = page.waitForEvent('requestfailed', request => request.url().endsWith('.js'))
    await page.getByRole('link', { name: 'Devices' }).first().click()
    await refused
    await page.getByText('Loading the view…').waitFor()
    const mended = await openBalancer([service], network.port)
    onTestFinished(() => mended.close())
    await page.getByRole('heading', { name: 'Devices', level: 1 }).waitFor()
  })

  test('says that it cannot be shown where the service has it no longer, and leaves the other views as they are', async () => {
    const page = await at.visit('/jobs')
    await page.getByRole('heading', { name: 'Jobs', level: 1 }).waitFor()
    at.forgive(/dynamically imported module/)
    await page.route('**/assets/devices-*.js', route => route.fulfill({ status: 404 }))
    await page.getByRole('link', { name: 'Devices' }).first().click()
    await page.getByRole('heading', { name: 'This view cannot be shown' }).waitFor()
    expect(await page.getByRole('button', { name: 'Try again' }).count()).toBe(1)
    await page.getByRole('link', { name: 'Jobs' }).first().click()
    await page.getByRole('heading', { name: 'Jobs', level: 1 }).waitFor()
  })
})
