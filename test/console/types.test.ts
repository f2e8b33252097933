import type { Page } from 'playwright-core'
import { beforeAll, describe, expect, test } from 'vitest'
import type { OperationTypeAnswer } from '../../src/contract/client/client.ts'
import { type Console, hasBrowser, openConsole } from './browser.ts'

const TYPES = '/north/v80/operationTypes/provision/organizations/drover'

describe.skipIf(!hasBrowser)('operation types in the console', () => {
  let at: Console

  beforeAll(async () => {
    at = await openConsole({ DROVER_ROLES: 'north,engine' })
  })

  test('a type of the catalog is cloned under another name', async () => {
    const page = await at.visit('/types?view=catalog')
    await page.getByLabel('Find').fill('REBOOT_EQUIPMENT')
    await page.getByRole('listitem').filter({ hasText: 'REBOOT_EQUIPMENT' }).getByRole('button').click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Name').fill('REBOOT_PUMP')
    await dialog.getByLabel('Title').fill('Restart a pump')
    await dialog.getByRole('button', { name: 'Clone' }).click()
    await page.getByRole('heading', { name: 'Restart a pump', level: 1 }).waitFor()
    await page.getByText('A clone of REBOOT_EQUIPMENT').waitFor()
    const { status, body } = await at.house.call<OperationTypeAnswer>('GET', `${TYPES}/REBOOT_PUMP`)
    expect([status, body.title, body.fromCatalog]).toEqual([200, 'Restart a pump', 'REBOOT_EQUIPMENT'])
  })

  test('the schema of a type is judged as it is written, with its form beside, and the service has the last word', async () => {
    const page = await at.visit('/types/new')
    const schema = page.getByRole('textbox', { name: 'JSON Schema of the parameters' })
    const form = page.getByRole('region', { name: 'Form preview' })
    const save = page.getByRole('region', { name: 'Save' }).getByRole('button')
    await page.getByLabel('Name', { exact: false }).first().fill('SET_SPEED')
    await schema.fill('{ "type": ')
    await form.getByText('The schema cannot be read yet.').waitFor()
    expect(await save.isDisabled()).toBe(true)

    await schema.fill(JSON.stringify(speedUpTo(50)))
    await form.getByLabel('Speed').fill('60')
    await form
      .getByText(/60 is greater than 50/)
      .first()
      .waitFor()
    await form.getByLabel('Speed').fill('40')
    await expect.poll(() => form.getByText(/is greater than 50/).count()).toBe(0)
    await form.getByText('What would be sent').click()
    await form.getByText('"speed": 40').waitFor()
    await save.click()
    await expect.poll(() => new URL(page.url()).pathname).toBe('/console/types/SET_SPEED')
    const read = async () => (await at.house.call<OperationTypeAnswer>('GET', `${TYPES}/SET_SPEED`)).body.parameters
    expect(await read()).toEqual(speedUpTo(50))

    await schema.fill(JSON.stringify({ ...speedUpTo(70), type: 'nonsense' }))
    await save.click()
    await page.getByRole('region', { name: 'Save' }).getByRole('alert').waitFor()
    expect(await read()).toEqual(speedUpTo(50))
    await schema.fill(JSON.stringify(speedUpTo(70)))
    await save.click()
    await page.getByText('Saved.').waitFor()
    expect(await read()).toEqual(speedUpTo(70))
  })

  test('a view that was left stays left, also while the next one is still being loaded', async () => {
    const page = await at.visit('/types')
    await page.getByRole('link', { name: 'Reboot', exact: false }).first().waitFor()
    let load = () => {}
    const held = new Promise<void>(resolve => {
      load = resolve
    })
    await page.route(/\/assets\/type-.*\.js$/, async route => {
      await held
      await route.continue()
    })
    await page.clock.install()
    await page.getByLabel('Find').fill('UPDATE')
    await page.getByRole('link', { name: 'Update', exact: true }).click()
    await page.getByText('Loading the view').waitFor()
    // Time enough for whatever the list still had in mind.
    await page.clock.runFor(2_000)
    expect(page.url()).toMatch(/\/types\/UPDATE$/)
    load()
    await page.getByRole('heading', { name: 'Update', level: 1 }).waitFor()
    expect(page.url()).toMatch(/\/types\/UPDATE$/)
  })

  test('a type is saved with one click, whatever the trial of its form holds', async () => {
    const page = await at.visit('/types/new')
    const { form, save, schema } = editor(page)
    await page.getByLabel('Name', { exact: false }).first().fill('SET_LIMIT')
    await schema.fill(JSON.stringify({ ...speedUpTo(50), required: ['speed', 'reason'] }))
    await form.getByLabel('Speed').fill('60')
    await form
      .getByText(/60 is greater than 50/)
      .first()
      .waitFor()
    // The field is left by the click: what it then says of itself must not move the button from under the pointer.
    await save.click()
    await expect.poll(() => new URL(page.url()).pathname).toBe('/console/types/SET_LIMIT')
  })

  test.each([
    ['refers to what is not there', { $ref: '#/$defs/gone' }, 'It refers to #/$defs/gone, which is not there.'],
    ['has a pattern that is none', { type: 'string', pattern: '(' }, 'The pattern ( cannot be run'],
    ['refers to itself without end', { $ref: '#/properties/speed' }, 'It refers to itself without end'],
    ['is of a kind that there is not', { oneOf: 'nothing' }, 'No form can be drawn from this schema.'],
  ])('a schema that %s gives no form, says why, and breaks nothing', async (_, speed, words) => {
    const page = await at.visit('/types/new')
    const { form, schema } = editor(page)
    await schema.fill(JSON.stringify({ type: 'object', properties: { speed } }))
    await form.getByText(words).waitFor()
    await schema.fill(JSON.stringify(speedUpTo(50)))
    await form.getByLabel('Speed').waitFor()
  })

  test('a pattern is judged while one types, in a time that no text makes long', async () => {
    const page = await at.visit('/types/new')
    const { form, schema } = editor(page)
    // The browser's own engine doubles its time with every letter of this.
    await schema.fill(
      JSON.stringify({ type: 'object', properties: { word: { type: 'string', title: 'Word', pattern: '^(a+)+$' } } }),
    )
    await form.getByLabel('Word').fill(`${'a'.repeat(200)}!`)
    await form.getByText('does not match the pattern ^(a+)+$').first().waitFor()
    await form.getByLabel('Word').fill('aaa')
    await expect.poll(() => form.getByText('does not match the pattern').count()).toBe(0)
  })
})

/** The parts of the view that edits a type. */
const editor = (page: Page) => ({
  schema: page.getByRole('textbox', { name: 'JSON Schema of the parameters' }),
  form: page.getByRole('region', { name: 'Form preview' }),
  save: page.getByRole('region', { name: 'Save' }).getByRole('button', { name: /Save|Create the type/ }),
})

const speedUpTo = (maximum: number) => ({
  type: 'object',
  properties: { speed: { type: 'integer', title: 'Speed', maximum } },
  additionalProperties: false,
})
