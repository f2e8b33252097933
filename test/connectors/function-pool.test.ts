import { afterAll, describe, expect, onTestFinished, test } from 'vitest'
import { functionPool } from '../../src/connectors/function-pool.ts'
import { FUNCTION_LIMITS, type FunctionPart } from '../../src/domain/connector-function.ts'

const pool = functionPool()
afterAll(() => pool.stop())

const run = (source: string, args: unknown[] = [{}, {}], part: FunctionPart = 'request', organization = 1) =>
  pool.run(organization, { source, part, arguments: args })

describe('a function', () => {
  test.for([
    [
      'a declaration',
      'function request(operation, device) { return { result: { name: operation.name, on: device.id } } }',
    ],
    ['a constant', 'const request = (operation, device) => ({ result: { name: operation.name, on: device.id } })'],
  ])('written as %s is given its arguments and gives its value', async ([, source]) => {
    expect(await run(source!, [{ name: 'REBOOT' }, { id: 'd1' }])).toEqual({
      ok: true,
      value: { result: { name: 'REBOOT', on: 'd1' } },
      log: [],
    })
  })

  test('gives what JSON makes of its value, and null for nothing', async () => {
    expect(await run('function request() { return [new Date(0), undefined, NaN, "\\u2028"] }')).toMatchObject({
      value: ['1970-01-01T00:00:00.000Z', null, null, '\u2028'],
    })
    expect(await run('function request() {}')).toMatchObject({ ok: true, value: null })
  })

  test('may write what it sees, within bounds', async () => {
    const outcome = await run(
      'function request(o) { console.log("got", o); for (let k = 0; k < 1000; k++) console.log("x".repeat(10000)) }',
      [{ a: 1 }],
    )
    expect(outcome.log).toHaveLength(100)
    expect(outcome.log[0]).toBe('got {"a":1}')
    expect(outcome.log[1]).toHaveLength(500)
  })

  test.for([
    ['syntax', 'function request( {', 'SyntaxError'],
    ['syntax', 'throw new Error("at once"); function request() {}', 'at once'],
    ['missing', 'function response() {}', 'does not define'],
    ['missing', 'const request = 7', 'does not define'],
    [
      'threw',
      'function request() {\n  throw new TypeError("no such thing") }',
      'TypeError: no such thing at function.js:2',
    ],
    ['threw', 'function request() { throw { code: 7 } }', '{"code":7}'],
    ['threw', 'function request() { return missing.member }', 'ReferenceError'],
    ['threw', 'function request() { return request() }', 'stack overflow'],
    ['value', 'async function request() { return 1 }', 'promise'],
    ['value', 'function request() { const a = {}; a.a = a; return a }', 'circular'],
    ['value', 'function request() { return "x".repeat(600000) }', 'longer than'],
    ['value', 'function request() { let a = 1; for (let k = 0; k < 100; k++) a = [a]; return a }', 'nested deeper'],
    ['time', 'function request() { for (;;); }', 'too long'],
    ['time', 'for (;;); function request() {}', 'too long'],
    ['time', 'function request() { try { for (;;); } catch { return 1 } }', 'too long'],
    ['time', 'function request() { /(a+)+$/.test("a".repeat(40) + "b") }', 'too long'],
    ['time', 'function request() { return { toJSON() { for (;;); } } }', 'too long'],
    ['time', 'function request() { throw new Proxy({}, { get() { for (;;); }, has() { for (;;); } }) }', 'too long'],
    ['memory', 'function request() { return "x".repeat(1e9) }', 'memory'],
  ] as const)('that fails by %s is told: %j', async ([fault, source, words]) => {
    const outcome = await run(source)
    expect(outcome).toMatchObject({ ok: false, fault, description: expect.stringContaining(words) })
  })

  test.for([
    'function request() { throw "x" + "😀".repeat(3000) }',
    'function request() { throw new Error("😀".repeat(3000)) }',
    'throw new Error("😀".repeat(3000)); function request() {}',
  ])('that fails in many words is told in whole characters: %s', async source => {
    const outcome = await run(source)
    if (outcome.ok) throw new Error('it did not fail')
    expect(outcome.description.length).toBeGreaterThan(1990)
    expect(outcome.description.isWellFormed()).toBe(true)
  })

  test('that grows without end is stopped by time or memory', async () => {
    const outcome = await run('function request() { const a = []; for (;;) a.push("x".repeat(10000) + a.length) }')
    expect(outcome.ok || outcome.fault).toMatch(/time|memory/)
  })

  test('has nothing but its arguments', async () => {
    const names =
      'require process fetch setTimeout setInterval queueMicrotask XMLHttpRequest WebAssembly Buffer global navigator Deno os std'
    const source = `function request() { return ${JSON.stringify(names.split(' '))}.filter(name => name in globalThis) }`
    expect(await run(source)).toMatchObject({ ok: true, value: [] })
    expect(await run('function request() { return import("node:fs") }')).toMatchObject({ ok: false })
    expect(
      await run('function request() { return this.constructor.constructor("return typeof process")() }'),
    ).toMatchObject({
      value: 'undefined',
    })
  })

  test('carries nothing from one call to the next, whatever it changes', async () => {
    const source = `function request() { const before = globalThis.kept ?? 0; globalThis.kept = before + 1
      JSON.stringify = () => 'no'; Array.prototype.map = null; Object.prototype.poison = 1; return before }`
    for (let k = 0; k < 3; k += 1) expect(await run(source)).toMatchObject({ ok: true, value: 0 })
  })

  test('given more than allowed is not run', async () => {
    expect(await run('function request() {}', ['x'.repeat(FUNCTION_LIMITS.jsonMax)])).toMatchObject({ fault: 'value' })
  })
})

describe('the pool', () => {
  test('runs on after every way of failing', async () => {
    for (const source of ['for(;;);', 'throw 1', 'function request() { return "x".repeat(1e9) }']) await run(source)
    expect(await run('function request() { return 1 }')).toMatchObject({ ok: true, value: 1 })
  })

  test('ends a thread that does not come back, and goes on with another', async () => {
    const impatient = functionPool({
      threads: 1,
      limits: { ...FUNCTION_LIMITS, timeMs: 600_000 },
      hardMs: 300,
    })
    onTestFinished(() => impatient.stop())
    const call = (source: string) => impatient.run(1, { source, part: 'request', arguments: [] })
    expect(await call('function request() { for (;;); }')).toMatchObject({ ok: false, fault: 'time' })
    expect(await call('function request() { return 1 }')).toMatchObject({ ok: true, value: 1 })
  })

  test('lets organizations take turns: one with many slow calls delays another by one of them', async () => {
    const alone = functionPool({ threads: 1 })
    onTestFinished(() => alone.stop())
    const slow = 'function request() { const end = Date.now() + 20; while (Date.now() < end); return "slow" }'
    const order: string[] = []
    const call = (organization: number, source: string) =>
      alone.run(organization, { source, part: 'request', arguments: [] }).then(() => order.push(String(organization)))
    const hogged = Array.from({ length: 10 }, () => call(1, slow))
    const other = call(2, 'function request() { return "quick" }')
    await other
    expect(order.length).toBeLessThanOrEqual(3)
    await Promise.all(hogged)
    expect(order).toHaveLength(11)
  })

  test('refuses what an organization has waiting beyond its share', async () => {
    const narrow = functionPool({ threads: 1, waitingMax: 2 })
    onTestFinished(() => narrow.stop())
    const call = (organization: number) =>
      narrow.run(organization, { source: 'function request() { return 1 }', part: 'request', arguments: [] })
    const outcomes = await Promise.all([call(1), call(1), call(1), call(2)])
    expect(outcomes.map(outcome => outcome.ok || outcome.fault)).toEqual([true, true, 'busy', true])
  })

  test('does not run what comes to its turn too late, and goes on with what is in time', async () => {
    const alone = functionPool({ threads: 1 })
    onTestFinished(() => alone.stop())
    const call = (value: number, beginMs?: number) =>
      alone.run(1, { source: `function request() { return ${value} }`, part: 'request', arguments: [] }, beginMs)
    const outcomes = await Promise.all([call(1), call(2, 0), call(3, 600_000), call(4)])
    expect(outcomes.map(outcome => (outcome.ok ? outcome.value : outcome.fault))).toEqual([1, 'busy', 3, 4])
  })

  test('answers what waits when it stops', async () => {
    const stopped = functionPool({ threads: 1 })
    const call = () => stopped.run(1, { source: 'function request() { return 1 }', part: 'request', arguments: [] })
    const waiting = [call(), call()]
    await stopped.stop()
    for (const outcome of await Promise.all(waiting)) expect(outcome).toMatchObject({ ok: false, fault: 'busy' })
    expect(await call()).toMatchObject({ ok: false, fault: 'busy' })
  })
})
