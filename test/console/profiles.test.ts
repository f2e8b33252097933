/** What each profile is offered in the console, which is what it may do and nothing else. */
import type { Page } from 'playwright-core'
import { beforeAll, describe, expect, test } from 'vitest'
import { isFinal, response } from '../service/house.ts'
import { createJob } from '../service/jobs.ts'
import { type Console, hasBrowser, openConsole } from './browser.ts'

const TYPES = '/north/v80/operationTypes/provision/organizations/drover'
const TASKS = '/north/v80/operation/tasks'

const RUN = ['Launch', 'Launch a job', 'Activate', 'Cancel the job', 'New task', 'Pause', 'Delete the task']
const MANAGE = ['Launch a job on it', 'Make a new key', 'Take the key away', 'New type', 'Save', 'Delete the type']
const PEOPLE = ['Users', 'Audit', 'New user']

/** Of everything that can be done, what a profile is offered. */
const OFFERED: Readonly<Record<string, readonly string[]>> = {
  viewer: [],
  advanced: [...RUN, ...MANAGE],
  admin_domain: [...RUN, ...MANAGE, ...PEOPLE],
  super_admin_domain: [...RUN, ...MANAGE, ...PEOPLE],
  admin: [...RUN, ...MANAGE, ...PEOPLE],
  root: [...RUN, ...MANAGE, ...PEOPLE],
}

describe.skipIf(!hasBrowser)('a profile in the console', () => {
  let at: Console
  let job = ''

  const person = (profile: string) => ({ email: `${profile}@people.test`, password: `the ${profile} of this house` })

  beforeAll(async () => {
    at = await openConsole()
    const { house } = at
    for (const profile of Object.keys(OFFERED)) {
      const { status, body } = await house.call('POST', '/north/v80/provision/users', {
        user: { ...person(profile), profile },
      })
      expect(status, JSON.stringify(body)).toBe(201)
    }
    await house.provision('pump-1')
    const request = { name: 'REFRESH_INFO', target: { append: { entities: ['pump-1'] } } }
    job = (await createJob(house.client, { ...request, active: false })).id
    const schedule = { start: { date: '2099-01-15T09:30:00Z' } }
    const task = { id: 'later', name: 'Later', schedule, job: { request } }
    expect((await house.call('POST', TASKS, { task })).status).toBe(201)
    const type = { name: 'FLUSH', title: 'Flush', applicableTo: ['entity.device'], parameters: { type: 'object' } }
    expect((await house.call('POST', TYPES, type)).status).toBe(201)
  })

  /** An address, what is there once the view is, and what may be offered: by its role and name, as it is called above. */
  type Offer = readonly [role: 'link' | 'button', name: string, called?: string]
  const places = (): readonly (readonly [address: string, shows: string, offers: readonly Offer[]])[] => [
    [
      '/jobs',
      'REFRESH_INFO',
      [
        ['link', 'Launch'],
        ['link', 'Launch a job'],
        ['link', 'Users'],
        ['link', 'Audit'],
      ],
    ],
    [
      `/jobs/${job}`,
      'Idle',
      [
        ['button', 'Activate'],
        ['button', 'Cancel the job'],
      ],
    ],
    ['/tasks', 'Later', [['link', 'New task']]],
    [
      '/tasks/later',
      'Schedule',
      [
        ['button', 'Pause'],
        ['button', 'Delete', 'Delete the task'],
      ],
    ],
    ['/types', 'FLUSH', [['link', 'New type']]],
    [
      '/types/FLUSH',
      'Form preview',
      [
        ['button', 'Save'],
        ['button', 'Delete', 'Delete the type'],
      ],
    ],
    [
      '/devices/pump-1',
      'Provisioned',
      [
        ['link', 'Launch a job on it'],
        ['button', 'Make a new key'],
        ['button', 'Take the key away'],
      ],
    ],
    ['/users', 'Users', [['button', 'New user']]],
  ]

  test.each(Object.entries(OFFERED))('%s is offered what it may do, and nothing else', async (profile, offered) => {
    const page = await at.visit('/jobs', { as: person(profile) })
    const found: string[] = []
    for (const [address, shows, offers] of places()) {
      await page.goto(`${at.house.url}/console${address}`)
      if (address === '/users' && !offered.includes('Users')) {
        await page.getByText('The profile you are signed in with may not do this.').waitFor()
      } else {
        await page.locator('#main').getByText(shows).first().waitFor()
      }
      for (const [role, name, called = name] of offers) {
        if ((await page.getByRole(role, { name, exact: true }).count()) > 0) found.push(called)
      }
    }
    expect(found.toSorted()).toEqual(offered.toSorted())
  })

  test('who makes users gives no profile above the own', async () => {
    const page = await at.visit('/users', { as: person('super_admin_domain') })
    await page.getByRole('button', { name: 'New user' }).click()
    await page.getByRole('dialog').getByRole('combobox', { name: 'Profile' }).click()
    await page.getByRole('option', { name: 'super_admin_domain' }).waitFor()
    const offered = await page.getByRole('option').allTextContents()
    expect(offered).toEqual(['viewer', 'advanced', 'admin_domain', 'super_admin_domain'])
  })

  test('a type that names who may run it is offered to no one else, neither to launch nor to retry', async () => {
    const { house } = at
    const flush = { name: 'DRAIN', title: 'Drain', applicableTo: ['entity.device'], profiles: ['root'] }
    expect((await house.call('POST', TYPES, flush)).status).toBe(201)
    const key = await house.provision('pull-1', { 'provision.device.operation.flow': 'pull' })
    const id = await house.start('pull-1', { name: 'DRAIN', parameters: {} })
    interface Pending {
      readonly operation: { readonly request: { readonly id: string } }
    }
    const asks = () => house.south<Pending | undefined>('pull-1', key, 'operation/pending?wait=10')
    let pending = (await asks()).body
    while (!pending) pending = (await asks()).body
    await house.south(
      'pull-1',
      key,
      'operation/response',
      response(pending.operation.request.id, { resultCode: 'ERROR_PROCESSING', steps: [] }),
    )
    await house.until(id, isFinal)

    const isOffered = async (page: Page, isRoot: boolean) => {
      await page.goto(`${house.url}/console/types/DRAIN`)
      await page.getByText('Form preview').waitFor()
      expect(await page.getByRole('link', { name: 'Launch a job' }).count()).toBe(isRoot ? 1 : 0)
      await page.goto(`${house.url}/console/launch/what`)
      await page.getByRole('combobox', { name: 'Operation' }).click()
      await page.getByRole('option', { name: /FLUSH/ }).waitFor()
      expect(await page.getByRole('option', { name: /DRAIN/ }).count()).toBe(isRoot ? 1 : 0)
      const types = page.waitForResponse(answer => answer.url().includes('/operationTypes/'))
      await page.goto(`${house.url}/console/jobs/${id}`)
      await types
      await page.getByRole('button', { name: 'Show these devices' }).first().waitFor()
      await expect.poll(() => page.getByRole('button', { name: 'Retry the unsuccessful' }).count()).toBe(isRoot ? 1 : 0)
    }
    await isOffered(await at.visit('/jobs', { as: person('root') }), true)
    await isOffered(await at.visit('/jobs', { as: person('advanced') }), false)
  })
})
