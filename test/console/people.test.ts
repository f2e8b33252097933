/** Users and the audit log in the console: made, changed and removed there, and told there. */
import { beforeAll, describe, expect, test } from 'vitest'
import { type Console, hasBrowser, openConsole } from './browser.ts'

const LOGIN = '/north/v80/provision/users/login'

describe.skipIf(!hasBrowser)('users and audit in the console', () => {
  let at: Console
  const anna = { email: 'anna@drover.test', password: 'first of several' }

  beforeAll(async () => {
    at = await openConsole({ DROVER_ROLES: 'north,engine' })
  })

  const signsIn = async (password: string) =>
    (await at.house.call<{ user?: { profile: string } }>('POST', LOGIN, { email: anna.email, password })).body.user
      ?.profile

  test('a user is made, found, changed and removed', async () => {
    const page = await at.visit('/users')
    await page.getByRole('button', { name: 'New user' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Email').fill(anna.email)
    await dialog.getByLabel('Name', { exact: true }).fill('Anna')
    await dialog.getByRole('textbox', { name: 'Password' }).fill(anna.password)
    // What is shown as a command holds no password.
    await dialog.getByText('The same with curl').click()
    await dialog.getByText('"password":"…"').waitFor()
    await dialog.getByRole('button', { name: 'Save' }).click()
    await dialog.waitFor({ state: 'detached' })
    expect(await signsIn(anna.password)).toBe('advanced')

    await page.getByLabel('Find').fill('ann')
    const row = page.getByRole('row').filter({ hasText: anna.email })
    await expect.poll(() => page.getByRole('region', { name: 'Users' }).locator('tbody tr').count()).toBe(1)
    await row.getByRole('button', { name: anna.email }).click()
    await dialog.getByRole('combobox', { name: 'Profile' }).click()
    await page.getByRole('option', { name: 'viewer' }).click()
    await dialog.getByRole('button', { name: 'Save' }).click()
    await dialog.waitFor({ state: 'detached' })
    await row.getByText('viewer').waitFor()
    expect(await signsIn(anna.password)).toBe('viewer')

    await row.getByRole('button', { name: 'Remove' }).click()
    await dialog.getByText('can no longer sign in').waitFor()
    await dialog.getByRole('button', { name: 'Remove' }).click()
    await page.getByText('No user fits this filter.').waitFor()
    expect(await signsIn(anna.password)).toBeUndefined()
  })

  test('the audit log tells who was refused what, and is narrowed to a user and a time', async () => {
    const watcher = { email: 'watch@drover.test', password: 'only looking on' }
    await at.house.call('POST', '/north/v80/provision/users', { user: { ...watcher, profile: 'viewer' } })
    const { body } = await at.house.call<{ user: { jwt: string } }>('POST', LOGIN, watcher)
    const refused = await fetch(`${at.house.url}/north/v80/operation/jobs/0000000000000001`, {
      method: 'DELETE',
      headers: { authorization: `Bearer ${body.user.jwt}` },
    })
    expect(refused.status).toBe(403)
    const page = await at.visit(`/audit?user=${watcher.email}`)
    const rows = page.getByRole('region', { name: 'Audit log' }).locator('tbody tr')
    const row = rows.filter({ hasText: 'DELETE' })
    await row.getByText('403', { exact: true }).waitFor()
    await row.getByText('/north/v80/operation/jobs/0000000000000001').waitFor()
    await row.getByText('127.0.0.1').waitFor()
    for (const text of await rows.allTextContents()) expect(text).toContain(watcher.email)
    await page.getByLabel('Before').fill('2020-01-01T00:00')
    await page.getByText('Nothing was done that fits this filter.').waitFor()
    expect(new URL(page.url()).searchParams.get('to')).toBe('2020-01-01T00:00')
  })
})
