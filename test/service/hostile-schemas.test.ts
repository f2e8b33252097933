/** Operation types whose schema was written to slow or stop the service: each is refused or bounded, and others do not wait for it. */
import { expect, test } from 'vitest'
import { openHouse } from './house.ts'
import { asking, JOBS, job, on, TYPES, type } from './interface/asking.ts'

const house = await openHouse()
const { refusal } = asking(house)
await house.provision('d1')

let made = 0

const inside = (levels: number): object =>
  levels === 0 ? { type: 'string' } : { type: 'object', properties: { a: inside(levels - 1) } }
const doubling = Object.fromEntries(
  Array.from({ length: 40 }, (_, i) => [
    `l${i}`,
    { allOf: [{ $ref: `#/$defs/l${i + 1}` }, { $ref: `#/$defs/l${i + 1}` }] },
  ]),
)
const ofA = (a: object) => ({ type: 'object', properties: { a } })

/** What a client waits for an answer. */
const CLIENT_MS = 5_000

/**
 * Asks while somebody else reads a type all the time. The process of the test does the work of the service too, so the processor time
 * that it takes bounds how long anybody waits, and does not depend on who else is at work on the machine.
 */
async function besideOthers<Answer>(ask: () => Promise<Answer>): Promise<Answer> {
  const before = process.cpuUsage()
  let over = false
  const asked = Promise.allSettled([ask()]).finally(() => {
    over = true
  })
  do expect((await house.call('GET', `${TYPES}/UPDATE`)).status).toBe(200)
  while (!over)
  const [settled] = await asked
  const { user, system } = process.cpuUsage(before)
  expect((user + system) / 1_000).toBeLessThan(CLIENT_MS)
  if (settled.status === 'rejected') throw settled.reason
  return settled.value
}

test.each<[string, object]>([
  ['that is 30 levels deep', inside(30)],
  ['that is 400 levels deep', inside(400)],
  ['that refers to itself in a circle', { type: 'object', allOf: [{ $ref: '#' }] }],
  [
    'two of whose parts refer to each other',
    { type: 'object', $defs: { a: { $ref: '#/$defs/b' }, b: { $ref: '#/$defs/a' } }, $ref: '#/$defs/a' },
  ],
  [
    'that refers twice to the next level, forty times',
    { type: 'object', $defs: { ...doubling, l40: {} }, $ref: '#/$defs/l0' },
  ],
  ['that refers to a file', ofA({ $ref: 'file:///etc/passwd' })],
  ['that refers to another host', ofA({ $ref: 'http://169.254.169.254/latest/meta-data' })],
  ['with an enumeration of 20,000 values', ofA({ enum: Array.from({ length: 20_000 }, (_, i) => i) })],
  [
    'with 5,000 properties',
    { type: 'object', properties: Object.fromEntries(Array.from({ length: 5_000 }, (_, i) => [`p${i}`, {}])) },
  ],
  [
    'with 200 patterns',
    {
      type: 'object',
      properties: Object.fromEntries(Array.from({ length: 200 }, (_, i) => [`p${i}`, { pattern: `a{${i}}` }])),
    },
  ],
  ['with a pattern whose program is huge', ofA({ pattern: '((a{1,100}){1,100}){1,100}' })],
  ['with a pattern that no engine of linear time can run', ofA({ pattern: '(a)\\1' })],
])('a schema %s is refused at its creation, at once', async (_, parameters) => {
  made += 1
  const told = await besideOthers(() => refusal('POST', TYPES, type({ name: `HOSTILE_${made}`, parameters })))
  expect(told.status, told.message).toBe(400)
  // What is too deep for any body is refused before it is a schema.
  expect(['parameters', 'body']).toContain(told.fields[0]?.split('.')[0])
})

test.each<[string, object, object]>([
  ['a format that nobody knows', ofA({ type: 'string', format: '__proto__' }), { a: 'x' }],
  [
    'a pattern that is exponential elsewhere',
    ofA({ type: 'string', pattern: '^(a+)+$' }),
    { a: `${'a'.repeat(200_000)}!` },
  ],
  ['alternatives that overlap', ofA({ type: 'string', pattern: '^(a|a|aa)*b$' }), { a: 'a'.repeat(200_000) }],
  [
    'items that must differ',
    ofA({ type: 'array', uniqueItems: true }),
    { a: Array.from({ length: 20_000 }, (_, i) => ({ i })) },
  ],
  [
    'a choice of a hundred for each of many items',
    ofA({ type: 'array', items: { anyOf: Array.from({ length: 100 }, (_, i) => ({ const: `x${i}` })) } }),
    { a: Array.from({ length: 30_000 }, () => 'no') },
  ],
  [
    'a tree that refers into itself',
    { type: 'object', properties: { a: { $ref: '#/$defs/t' } }, $defs: { t: { type: 'array', items: {} } } },
    { a: JSON.parse('['.repeat(900) + ']'.repeat(900)) as unknown },
  ],
])('parameters against %s are judged within the time of a client', async (_, schema, parameters) => {
  made += 1
  const name = `BOUNDED_${made}`
  const created = await besideOthers(() => house.call('POST', TYPES, type({ name, parameters: schema })))
  if (created.status !== 201) {
    expect(created.status).toBe(400)
    return
  }
  const { status } = await besideOthers(() =>
    house.call('POST', JOBS, job({ ...on(['d1'], { active: false, parameters }), name })),
  )
  expect([201, 400]).toContain(status)
})

test('defaults that grow beyond what was sent are bounded', async () => {
  const wide = Object.fromEntries(Array.from({ length: 100 }, (_, i) => [`p${i}`, { default: 'x'.repeat(200) }]))
  const schema = ofA({ type: 'array', items: { type: 'object', properties: wide } })
  expect((await house.call('POST', TYPES, type({ name: 'GROWING', parameters: schema }))).status).toBe(201)
  const parameters = { a: Array.from({ length: 50_000 }, () => ({})) }
  const { status } = await besideOthers(() =>
    house.call('POST', JOBS, job({ ...on(['d1'], { active: false, parameters }), name: 'GROWING' })),
  )
  expect(status).toBe(400)
})

test('a hundred large schemas at once leave the service at work', async () => {
  const properties = Object.fromEntries(
    Array.from({ length: 250 }, (_, i) => [
      `p${i}`,
      { type: 'object', properties: { a: { pattern: '^[a-z]{1,20}$' } } },
    ]),
  )
  const statuses = await Promise.all(
    Array.from({ length: 100 }, async (_, i) => {
      const body = type({ name: `LARGE_${i}`, parameters: { type: 'object', title: `${i}`, properties } })
      return (await house.call('POST', TYPES, body)).status
    }),
  )
  expect(statuses.every(status => status === 201 || status === 400)).toBe(true)
  expect((await house.call('GET', `${TYPES}/UPDATE`)).status).toBe(200)
})
