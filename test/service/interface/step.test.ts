import { expect, test } from 'vitest'
import { openHouse, response } from '../house.ts'
import { asking, on } from './asking.ts'

const house = await openHouse()
const { make, makeType, operation, pending } = asking(house)

let made = 0

/** The steps of an operation whose device reported these, part by part. */
async function reporting(...parts: object[][]) {
  made += 1
  const device = `d${made}`
  const key = await house.provision(device)
  const { id } = await make(on([device]))
  await house.until(id, ({ status }) => status === 'WAITING_FOR_CONNECTION')
  const request = (await pending(device, key))!
  for (const steps of parts) {
    const { status } = await house.south(device, key, 'operation/response', response(request.id, { steps }))
    expect(status).toBe(200)
  }
  return (await operation(id)).steps
}

test('A step has a name.', async () => {
  expect((await reporting([{ name: 'DOWNLOAD', result: 'SUCCESSFUL' }]))[0]?.name).toBe('DOWNLOAD')
})

test('A step has a timestamp: its own, else that of its receipt.', async () => {
  const steps = await reporting([
    { name: 'OWN', result: 'SUCCESSFUL', timestamp: 1_700_000_000_000 },
    { name: 'NONE', result: 'SUCCESSFUL' },
  ])
  expect(steps[0]?.timestamp).toBe('2023-11-14T22:13:20.000Z')
  expect(new Date(steps[1]!.timestamp).toISOString()).toBe(steps[1]!.timestamp)
})

test('The description of a step is optional.', async () => {
  const steps = await reporting([
    { name: 'A', result: 'SUCCESSFUL', description: 'all of it' },
    { name: 'B', result: 'SUCCESSFUL' },
  ])
  expect(steps[0]?.description).toBe('all of it')
  expect(steps[1]?.description ?? '').toBe('')
})

test('The response of a step is optional.', async () => {
  const steps = await reporting([
    { name: 'A', result: 'SUCCESSFUL', response: 'v2' },
    { name: 'B', result: 'SUCCESSFUL' },
  ])
  expect(steps[0]?.response).toBe('v2')
  expect(steps[1]).not.toHaveProperty('response')
})

test('The result of a step is SUCCESSFUL, ERROR, SKIPPED or NOT_EXECUTED.', async () => {
  const words = ['SUCCESSFUL', 'ERROR', 'SKIPPED', 'NOT_EXECUTED']
  const steps = await reporting(words.map(word => ({ name: `S-${word}`, result: word })))
  expect(steps.map(({ result }) => result)).toEqual(words)
})

test('Another word as a result is kept as ERROR, with the word in the description.', async () => {
  const [step] = await reporting([{ name: 'A', result: 'TIRED' }])
  expect(step?.result).toBe('ERROR')
  expect(step?.description).toContain('TIRED')
})

test('An operation has the steps that its device went through, and no others of its type.', async () => {
  await makeType({ name: 'LONG', steps: [{ name: 'A' }, { name: 'B' }, { name: 'C' }] })
  const key = await house.provision('some')
  const { id } = await make({ ...on(['some']), name: 'LONG' })
  await house.until(id, ({ status }) => status === 'WAITING_FOR_CONNECTION')
  const request = (await pending('some', key))!
  const steps = [{ name: 'B', result: 'SUCCESSFUL' }]
  await house.south('some', key, 'operation/response', response(request.id, { steps, resultCode: 'SUCCESSFUL' }))
  expect((await operation(id)).steps.map(({ name }) => name)).toEqual(['B'])
})

test('A step that is reported again is the same step, in its place.', async () => {
  const steps = await reporting(
    [{ name: 'A', result: 'NOT_EXECUTED' }],
    [{ name: 'B', result: 'SUCCESSFUL' }],
    [{ name: 'A', result: 'SUCCESSFUL' }],
  )
  expect(steps.map(({ name, result }) => `${name} ${result}`)).toEqual(['A SUCCESSFUL', 'B SUCCESSFUL'])
})
