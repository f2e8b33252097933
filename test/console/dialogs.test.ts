/** The dialogs of the console's actions: each shows the command that does the same, in both schemes and on a phone. */
import { readdir, readFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { beforeAll, describe, expect, test } from 'vitest'
import { createJob, readJob } from '../service/jobs.ts'
import { accessibilityFaults, type Console, hasBrowser, openConsole } from './browser.ts'

const TYPES = '/operationTypes/provision/organizations/drover'
const KEY = '/provision/organizations/drover/devices/pump-1/key'

describe.skipIf(!hasBrowser)('the dialog of an action', () => {
  let at: Console
  let idle = ''
  let ended = ''
  let running = ''
  let paused = ''

  beforeAll(async () => {
    at = await openConsole()
    const { house } = at
    await house.provision('pump-1')
    const request = { name: 'REFRESH_INFO', target: { append: { entities: ['pump-1'] } } }
    const schedule = { start: { delayed: 3_600_000 } }
    idle = (await createJob(house.client, { ...request, active: false })).id
    running = (await createJob(house.client, { ...request, schedule })).id
    const spread = { stop: { delayed: 3_600_000 }, scattering: { maxSpread: 100 } }
    paused = (await createJob(house.client, { ...request, schedule: spread })).id
    while ((await readJob(house.client, paused)).report.summary.status !== 'IN_PROGRESS') await sleep(100)
    await house.call('PUT', `/north/v80/operation/jobs/${paused}`, { job: { request: { active: false } } })
    ended = (await createJob(house.client, { ...request, callback: 'http://127.0.0.1:9/nobody', active: false })).id
    await house.call('DELETE', `/north/v80/operation/jobs/${ended}`)
    while ((await readJob(house.client, ended)).report.summary.status !== 'CANCELLED') await sleep(100)
    const task = { id: 'later', name: 'Later', schedule: { start: { date: '2099-01-15T09:30:00Z' } }, job: { request } }
    await house.call('POST', '/north/v80/operation/tasks', { task })
    await house.call('POST', '/north/v80/operation/tasks', { task: { ...task, id: 'held', active: false } })
    const user = { email: 'anna@drover.test', password: 'first of several', profile: 'viewer' }
    await house.call('POST', '/north/v80/provision/users', { user })
  })

  const actions: readonly (readonly [name: string, address: () => string, command: () => string])[] = [
    ['Activate', () => `/jobs/${idle}`, () => `PUT /operation/jobs/${idle}`],
    ['Pause', () => `/jobs/${running}`, () => `PUT /operation/jobs/${running}`],
    ['Resume', () => `/jobs/${paused}`, () => `PUT /operation/jobs/${paused}`],
    ['Cancel the job', () => `/jobs/${idle}`, () => `DELETE /operation/jobs/${idle}`],
    ['Retry the unsuccessful', () => `/jobs/${ended}`, () => 'POST /operation/jobs'],
    ['Pause', () => '/tasks/later', () => 'PUT /operation/tasks/later'],
    ['Resume', () => '/tasks/held', () => 'PUT /operation/tasks/held'],
    ['Delete', () => '/tasks/later', () => 'DELETE /operation/tasks/later'],
    ['Delete', () => '/types/UPDATE', () => `DELETE ${TYPES}/UPDATE`],
    ['Clone', () => '/types?view=catalog&words=UPDATE', () => `POST ${TYPES}`],
    ['Make a new key', () => '/devices/pump-1', () => `POST ${KEY}`],
    ['Take the key away', () => '/devices/pump-1', () => `DELETE ${KEY}`],
    ['Repeat', () => `/deliveries?job=${ended}`, () => 'POST /deliveries/'],
    ['New user', () => '/users', () => 'POST /provision/users'],
    ['anna@drover.test', () => '/users', () => 'PUT /provision/users/anna'],
    ['Remove', () => '/users', () => 'DELETE /provision/users/anna'],
  ]

  /** What is changed without a dialog: the launch, what is saved of a type and the own password, each with its command beside it. */
  const WITHOUT_DIALOG = [
    'POST /operation/tasks',
    'PUT /operationTypes/provision/organizations/{organization}/{operationName}',
    'POST /provision/users/login',
  ]

  test('is there for whatever the console changes', async () => {
    const folder = new URL('../../src/console/', import.meta.url)
    const files = (await readdir(folder, { recursive: true })).filter(each => /\.tsx?$/.test(each))
    const texts = await Promise.all(files.map(each => readFile(new URL(each, folder), 'utf8')))
    const asked = texts.flatMap(text =>
      [...text.matchAll(/asking\(\s*'((?:POST|PUT|DELETE) [^']+)'/g)].map(([, name = '']) => name),
    )
    const changes = [...new Set(asked)].filter(
      name => !/ \/search\/|\/plan$/.test(name) && !WITHOUT_DIALOG.includes(name),
    )
    expect(changes.length).toBeGreaterThan(8)
    const commands = actions.map(([, , command]) => command())
    const shown = (name: string) => {
      const pattern = new RegExp(`^${name.replace(/\{\w+\}/g, '[^/]*')}`)
      return commands.some(command => pattern.test(command) || name.startsWith(command))
    }
    expect(changes.filter(name => !shown(name))).toEqual([])
  })

  test('shows the command that does the same, and keeps to WCAG AA in both schemes and on a phone', async () => {
    const page = await at.visit('/account')
    for (const [name, address, command] of actions) {
      await page.emulateMedia({ colorScheme: 'light', reducedMotion: 'reduce' })
      await page.setViewportSize({ width: 1440, height: 900 })
      await page.goto(`${at.house.url}/console${address()}`)
      await page.getByRole('button', { name, exact: true }).first().click()
      const dialog = page.getByRole('dialog')
      await dialog.getByText('The same with curl').click()
      const text = (await dialog.locator('pre').textContent()) ?? ''
      const [, method = / -d /.test(text) ? 'POST' : 'GET'] = /-X (\w+)/.exec(text) ?? []
      const [, path = ''] = /"\$DROVER_URL\/north\/v80([^"?]*)/.exec(text) ?? []
      expect(`${method} ${path}`, name).toContain(command())
      expect(await accessibilityFaults(page), name).toEqual([])
      await page.emulateMedia({ colorScheme: 'dark', reducedMotion: 'reduce' })
      await page.setViewportSize({ width: 390, height: 844 })
      await page.locator('html[data-mantine-color-scheme="dark"]').waitFor()
      expect(await accessibilityFaults(page), name).toEqual([])
      const { x = 0, width = 0 } = (await dialog.boundingBox()) ?? {}
      expect([x >= 0, x + width <= 390], name).toEqual([true, true])
    }
  })
})
