/** One device in the console: where it is, what it said last, what it is doing, and the key that lets it in. */
import type { Page } from 'playwright-core'
import { beforeAll, describe, expect, test } from 'vitest'
import { sql } from '../../src/store/statement.ts'
import { isFinal, response } from '../service/house.ts'
import { type Console, confirm, hasBrowser, openConsole } from './browser.ts'

const CONNECTION = '/north/v80/provision/organizations/drover/devices/lamp-1/connection'

interface Connection {
  readonly connected: boolean
  readonly connectedDate: string
  readonly disconnectedDate: string
  readonly seenDate: string
}

describe.skipIf(!hasBrowser)('a device in the console', () => {
  let at: Console

  beforeAll(async () => {
    at = await openConsole()
  })

  const fact = (page: Page, name: string) =>
    page
      .getByRole('region', { name: 'Connection' })
      .locator('dt')
      .filter({ hasText: new RegExp(`^${name}$`) })
      .locator('+ dd')
  const instantOf = (page: Page, name: string) => fact(page, name).locator('time').getAttribute('datetime')

  test('it is connected while it is, and the screen says since when, until when, and when it was last heard of', async () => {
    const key = await at.house.provision('lamp-1', { 'provision.device.operation.flow': 'mqtt' })
    const page = await at.visit('/devices/lamp-1')
    await fact(page, 'Over MQTT').getByText('not connected', { exact: true }).waitFor()
    for (const name of ['Connected', 'Disconnected', 'Last heard of']) {
      await fact(page, name).getByText('never', { exact: true }).waitFor()
    }

    const { client } = await at.house.overMqtt('lamp-1', key)
    await fact(page, 'Over MQTT').getByText('connected', { exact: true }).waitFor()
    const connection = async () => (await at.house.call<Connection>('GET', CONNECTION)).body
    const { connectedDate } = await connection()
    expect(await instantOf(page, 'Connected')).toBe(connectedDate)
    await fact(page, 'Disconnected').getByText('never', { exact: true }).waitFor()

    await client.endAsync()
    await fact(page, 'Over MQTT').getByText('not connected', { exact: true }).waitFor()
    const { connected, disconnectedDate } = await connection()
    expect([connected, disconnectedDate !== '']).toEqual([false, true])
    await expect.poll(() => instantOf(page, 'Disconnected')).toBe(disconnectedDate)
    await expect.poll(async () => (await connection()).seenDate).not.toBe('')
    await expect.poll(async () => (await instantOf(page, 'Last heard of')) === (await connection()).seenDate).toBe(true)
  })

  test('devices are found by whether they are connected, went away or were never heard of', async () => {
    const keys = new Map<string, string>()
    for (const id of ['stays', 'goes', 'new']) {
      const values = { 'provision.device.operation.flow': 'mqtt', 'provision.administration.tags': ['found'] }
      keys.set(id, await at.house.provision(id, values))
    }
    for (const [id, flow] of Object.entries({ called: 'http', asks: 'pull' })) {
      const values = { 'provision.device.operation.flow': flow, 'provision.administration.tags': ['found'] }
      await at.house.provision(id, values)
    }
    // Told no way: by its address it is asked over HTTP, without one it asks for its work unless it connects.
    const found = { 'provision.administration.tags': ['found'] }
    await at.house.provision('addressed', { ...found, 'provision.device.operation.url': 'http://127.0.0.1:9/' })
    await at.house.provision('unaddressed', found)
    await at.house.overMqtt('stays', keys.get('stays') ?? '')
    const { client } = await at.house.overMqtt('goes', keys.get('goes') ?? '')
    await client.endAsync()
    const goes = async () => (await at.house.call<Connection>('GET', CONNECTION.replace('lamp-1', 'goes'))).body
    await expect.poll(async () => (await goes()).disconnectedDate).not.toBe('')
    const page = await at.visit('/devices?tag=found')
    const rows = page.getByRole('region', { name: 'Devices' }).locator('tbody a')
    const choose = async (choice: string, found: readonly string[]) => {
      await page.getByRole('combobox', { name: 'Connection' }).click()
      await page.getByRole('option', { name: choice, exact: true }).click()
      await expect.poll(async () => (await rows.allTextContents()).toSorted()).toEqual(found)
    }
    // Each says how it stands, and since when; what keeps no connection says nothing of it.
    const cell = (id: string) => page.getByRole('row').filter({ hasText: id }).getByRole('cell').nth(5)
    const connectionOf = async (id: string) =>
      (await at.house.call<Connection>('GET', CONNECTION.replace('lamp-1', id))).body
    const sinceOf = (id: string) => cell(id).locator('time').getAttribute('datetime')
    await cell('stays')
      .getByText(/^connected since /)
      .waitFor()
    expect(await sinceOf('stays')).toBe((await connectionOf('stays')).connectedDate)
    await cell('goes')
      .getByText(/^away since /)
      .waitFor()
    expect(await sinceOf('goes')).toBe((await connectionOf('goes')).disconnectedDate)
    expect(await cell('new').textContent()).toBe('never connected')
    // Of whose node has died nobody has seen it go.
    await at.house.database.query(
      sql`update presence set mqtt_connection = null, disconnected_at = connected_at - interval '1 day'
           where entity = (select entity from entity where identifier = 'stays')`,
    )
    await page.reload()
    await cell('stays')
      .getByText(/^away, last came /)
      .waitFor()
    expect(await sinceOf('stays')).toBe((await connectionOf('stays')).connectedDate)
    await at.house.overMqtt('stays', keys.get('stays') ?? '')
    for (const id of ['called', 'asks', 'unaddressed']) expect(await cell(id).textContent(), id).toBe('–')
    await choose('Connected', ['stays'])
    await choose('Not connected', ['goes', 'new'])
    await choose('Went away', ['goes'])
    await choose('Never heard of', ['asks', 'new', 'unaddressed'])
    expect(new URL(page.url()).searchParams.get('connection')).toBe('never')
    await page.getByRole('combobox', { name: 'Connection' }).click()
    await page.getByRole('option', { name: 'Not heard of for a day', exact: true }).click()
    await page.getByText('Nothing fits this filter.').waitFor()
  })

  test('one that is asked over HTTP keeps no connection, and is not said to be without one', async () => {
    await at.house.provision('gate-1', { 'provision.device.operation.flow': 'http' })
    const page = await at.visit('/devices/gate-1')
    await fact(page, 'Reached by').getByText('http', { exact: true }).waitFor()
    await fact(page, 'Last heard of').waitFor()
    expect(await fact(page, 'Over MQTT').count()).toBe(0)
  })

  test('its latest values stand there with the time of each, and a newer one takes the place of the older', async () => {
    const key = await at.house.provision('meter-1', { 'provision.device.name': 'Meter at the gate' })
    const collect = (value: number, moment: string) =>
      at.house.south('meter-1', key, 'collect/iot', {
        version: '8.0',
        datastreams: [{ id: 'battery.level', datapoints: [{ value, at: Date.parse(moment) }] }],
      })
    expect((await collect(87, '2026-01-15T09:30:00Z')).status).toBeLessThan(300)
    const page = await at.visit('/devices/meter-1')
    const values = page.getByRole('region', { name: 'Latest values' }).locator('tbody tr')
    const cells = () => values.locator('td').allTextContents()
    await expect.poll(cells).toEqual(['battery.level', '87', expect.stringMatching(/15 Jan.* 10:30:00$/)])
    expect(await values.locator('time').getAttribute('title')).toBe('2026-01-15 09:30:00.000 UTC')
    await collect(63, '2026-07-15T09:30:00Z')
    await expect.poll(cells).toEqual(['battery.level', '63', expect.stringMatching(/15 Jul.* 11:30:00$/)])
    const provisioned = page.getByRole('region', { name: 'Provisioned' }).locator('tbody tr')
    await provisioned.filter({ hasText: 'device.name' }).getByText('Meter at the gate', { exact: true }).waitFor()
  })

  test('what it is doing stands among the open operations, and goes to the ended ones with its result', async () => {
    const key = await at.house.provision('pump-1', { 'provision.device.operation.flow': 'pull' })
    const id = await at.house.start('pump-1', { name: 'REFRESH_INFO', parameters: {} })
    const page = await at.visit('/devices/pump-1')
    const open = page.getByRole('region', { name: 'Open operations' }).first()
    const ended = page.getByRole('region', { name: 'Ended operations' }).first()
    await open.getByRole('link', { name: 'REFRESH_INFO' }).waitFor()
    await ended.getByText('None has ended yet.').waitFor()
    interface Pending {
      readonly operation: { readonly request: { readonly id: string } }
    }
    const { body } = await at.house.south<Pending>('pump-1', key, 'operation/pending?wait=30')
    const answer = response(body.operation.request.id, { resultCode: 'ERROR_PROCESSING', steps: [] })
    await at.house.south('pump-1', key, 'operation/response', answer)
    await at.house.until(id, isFinal)
    await open.getByText('None is open.').waitFor()
    await ended.getByText('Error processing', { exact: true }).waitFor()
    await ended.getByRole('link', { name: 'REFRESH_INFO' }).click()
    await page.getByRole('heading', { name: 'Timeline' }).waitFor()
    expect(page.url()).toContain(`/jobs/${id}/operations/`)
  })

  test('a key that is taken away lets it in no more, and the screen has no other to show', async () => {
    const key = await at.house.provision('lock-1')
    const asks = async () => (await at.house.south('lock-1', key, 'operation/pending')).status
    expect(await asks()).toBe(204)
    const page = await at.visit('/devices/lock-1')
    const panel = page.getByRole('region', { name: 'API key' })
    await panel.getByRole('button', { name: 'Take the key away' }).click()
    await confirm(page, 'Take the key away', 1)
    await expect.poll(asks).toBe(401)
    expect(await panel.locator('pre').count()).toBe(0)
  })
})
