/** The frame of the console: who is let past its door, where it leads on a phone, and its colours. */
import { beforeAll, describe, expect, test } from 'vitest'
import { type Console, hasBrowser, openConsole } from './browser.ts'

const LOGIN = '/north/v80/provision/users/login'

describe.skipIf(!hasBrowser)('the frame of the console', () => {
  let at: Console

  beforeAll(async () => {
    at = await openConsole({ DROVER_ROLES: 'north,engine' })
  })

  test('who must change the password at first sees nothing else before, and arrives where the address led afterwards', async () => {
    const [email, first, second] = ['berta@drover.test', 'given by somebody', 'chosen by herself']
    const admin = await at.visit('/users')
    await admin.getByRole('button', { name: 'New user' }).click()
    const dialog = admin.getByRole('dialog')
    await dialog.getByLabel('Email').fill(email)
    await dialog.getByRole('textbox', { name: 'Password' }).fill(first)
    expect(await dialog.getByLabel('Must change the password at first').isChecked()).toBe(true)
    await dialog.getByRole('button', { name: 'Save' }).click()
    await dialog.waitFor({ state: 'detached' })

    const page = await at.visit('/jobs', { as: false })
    const signIn = async (password: string) => {
      await page.getByLabel('Email').fill(email)
      await page.getByRole('textbox', { name: 'Password' }).fill(password)
      await page.getByRole('button', { name: 'Sign in' }).click()
    }
    await signIn(first)
    const must = page.getByText('The password must be changed before anything else can be done.')
    await must.waitFor()
    await page.getByRole('link', { name: 'Devices' }).click()
    await expect.poll(() => page.url()).toMatch(/\/devices$/)
    await page.getByRole('heading', { name: 'Your account' }).waitFor()
    await must.waitFor()

    const change = async (present: string) => {
      await page.getByRole('textbox', { name: 'Present password' }).fill(present)
      await page.getByRole('textbox', { name: 'New password' }).fill(second)
      await page.getByRole('button', { name: 'Change it' }).click()
    }
    await change('not the present one')
    await page.getByText('The present password is not right.').waitFor()
    await change(first)
    await page.getByRole('heading', { name: 'Sign in to Drover' }).waitFor()
    await signIn(second)
    await page.getByRole('heading', { name: 'Devices', level: 1 }).waitFor()
    expect(await must.count()).toBe(0)
    const login = async (password: string) => (await at.house.call('POST', LOGIN, { email, password })).status
    expect([await login(first), await login(second)]).toEqual([401, 200])
  })

  test('on a phone the menu is opened by a touch, leads to a view, and is out of the way there', async () => {
    const page = await at.visit('/', { phone: true })
    const devices = page.getByRole('navigation', { name: 'Views' }).getByRole('link', { name: 'Devices' })
    const button = page.getByRole('button', { name: 'Open the menu' })
    await button.waitFor()
    expect([await devices.isVisible(), await button.getAttribute('aria-expanded')]).toEqual([false, 'false'])
    await button.tap()
    expect(await page.getByRole('button', { name: 'Close the menu' }).getAttribute('aria-expanded')).toBe('true')
    await devices.tap()
    await page.getByRole('heading', { name: 'Devices', level: 1 }).waitFor()
    await button.waitFor()
    await devices.waitFor({ state: 'hidden' })
    await button.tap()
    await page.getByRole('button', { name: 'Close the menu' }).tap()
    await devices.waitFor({ state: 'hidden' })
    expect(page.url()).toMatch(/\/devices$/)
  })

  test('its colours are those of the system until others are asked for, which then stay', async () => {
    const page = await at.visit('/account', { dark: true })
    const scheme = () => page.locator('html').getAttribute('data-mantine-color-scheme')
    const background = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor)
    await page.getByRole('heading', { name: 'Your account' }).waitFor()
    await expect.poll(scheme).toBe('dark')
    const dark = await background()
    await page.getByRole('button', { name: 'Change to light colours' }).click()
    await expect.poll(scheme).toBe('light')
    await expect.poll(background).not.toBe(dark)
    await page.reload()
    await page.getByRole('button', { name: 'Change to dark colours' }).waitFor()
    expect(await scheme()).toBe('light')
    await page.getByRole('button', { name: 'Change to dark colours' }).click()
    await expect.poll(background).toBe(dark)
  })
})
