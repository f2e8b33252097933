import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { CATALOG } from '../../src/domain/catalog.ts'
import { decideSilence, planOperation, writeAnswer } from '../../src/simulator/behaviour.ts'
import { drawLatencyMs, parseLatency } from '../../src/simulator/latency.ts'
import { performOperation } from '../../src/simulator/operations.ts'
import { type Behaviour, FLEET_DEFAULTS, FLOWS, flowPattern, parseFlows } from '../../src/simulator/options.ts'
import { randomOf } from '../../src/simulator/random.ts'

const update = performOperation({ name: 'UPDATE', parameters: { deploymentElements: [{}] } }, new Map())
const rough: Behaviour = { ...FLEET_DEFAULTS, fail: 0.3, silent: 0.2, duplicate: 0.3, late: 0.1, parts: 2 }
const operations = Array.from({ length: 2000 }, (_, n) => ({
  deviceId: `sim-${n % 50}`,
  operationId: `op-${n}`,
  flow: 'mqtt' as const,
}))

describe('what a device does', () => {
  test('follows from the seed, the device and the operation alone', () => {
    const plans = (seed: number) => operations.map(occasion => planOperation({ ...rough, seed }, occasion, update))
    expect(plans(7)).toEqual(plans(7))
    expect(plans(8)).not.toEqual(plans(7))
  })

  test('comes out at the rates it was told', () => {
    const plans = operations.map(occasion => planOperation(rough, occasion, update))
    const share = (count: number) => count / operations.length
    expect(share(plans.filter(({ fails }) => fails).length)).toBeCloseTo(0.3, 1)
    expect(share(plans.filter(({ late }) => late).length)).toBeCloseTo(0.1, 1)
    expect(share(plans.filter(({ answers }) => answers.at(-1)?.copies === 2).length)).toBeCloseTo(0.3, 1)
    const silences = operations.map(occasion => decideSilence(rough, occasion, 1))
    expect(share(silences.filter(silence => silence !== 'none').length)).toBeCloseTo(0.2, 1)
  })

  test('may be silent at first and heard at the next attempt', () => {
    const silent = operations.filter(occasion => decideSilence(rough, occasion, 1) !== 'none')
    const heard = silent.filter(occasion => decideSilence(rough, occasion, 2) === 'none')
    expect(heard.length / silent.length).toBeCloseTo(0.8, 1)
  })

  test('may be told in the opposite order, the acknowledgement still first and each at an instant of its own', () => {
    const occasion = { deviceId: 'd', operationId: 'op', flow: 'mqtt' as const }
    const inOrder = planOperation({ ...rough, seed: 3, fail: 0 }, occasion, update)
    const { answers } = planOperation({ ...rough, seed: 3, fail: 0, reorder: 1 }, occasion, update)
    expect(answers.map(({ kind }) => kind)).toEqual(['acknowledgement', 'final', 'part', 'part'])
    expect(answers.map(({ afterMs }) => afterMs)).toEqual(inOrder.answers.map(({ afterMs }) => afterMs))
    expect(answers.flatMap(({ steps }) => steps)).toHaveLength(inOrder.answers.flatMap(({ steps }) => steps).length)
  })

  test('always ends in exactly one final answer, after everything else, naming each step once and in order', () => {
    fc.assert(
      fc.property(
        fc.nat(1000),
        fc.nat(10),
        fc.constantFrom(...FLOWS),
        fc.string(),
        (seed, parts, flow, operationId) => {
          const plan = planOperation({ ...rough, seed, parts }, { deviceId: 'd', operationId, flow }, update)
          expect(plan.answers.filter(({ kind }) => kind === 'final')).toHaveLength(1)
          expect(plan.answers.at(-1)?.kind).toBe('final')
          const times = plan.answers.map(({ afterMs }) => afterMs)
          expect(times).toEqual(times.toSorted((a, b) => a - b))
          const steps = plan.answers.flatMap(({ steps }) => steps.map(({ name }) => name))
          expect(steps).toEqual(update.steps.slice(0, steps.length))
          if (!plan.fails) expect(steps).toEqual(update.steps)
          if (flow === 'http-sync') expect(plan.answers).toHaveLength(1)
        },
      ),
    )
  })

  test('says nothing of what it read when it failed', () => {
    const outcome = performOperation(
      { name: 'GET_DEVICE_PARAMETERS', parameters: { variableList: ['a'] } },
      new Map([['a', 1]]),
    )
    const operation = { id: 'op', name: 'GET_DEVICE_PARAMETERS', deviceId: 'd', variableList: outcome.variableList }
    const say = (fail: number) => {
      const plan = planOperation({ ...rough, fail }, { deviceId: 'd', operationId: 'op', flow: 'pull' }, outcome)
      return writeAnswer(plan, plan.answers.at(-1)!, operation, 5).operation.response
    }
    expect(say(0)).toMatchObject({ resultCode: 'SUCCESSFUL', variableList: [{ name: 'a', value: 1 }] })
    expect(say(1)).not.toHaveProperty('variableList')
  })
})

describe('an operation of the catalog', () => {
  test.each(CATALOG.map(({ name }) => name))('%s succeeds in at least one step', name => {
    const parameters = { deploymentElements: [{}], variableList: [] }
    const outcome = performOperation({ name, parameters }, new Map())
    expect(outcome.resultCode).toBe('SUCCESSFUL')
    expect(outcome.steps.length).toBeGreaterThan(0)
  })

  test.each([
    ['UPDATE', {}],
    ['UPDATE', { deploymentElements: [] }],
    ['SET_DEVICE_PARAMETERS', { variableList: [{}] }],
    ['GET_DEVICE_PARAMETERS', {}],
  ])('%s with %j is ERROR_IN_PARAM, without a step', (name, parameters) => {
    expect(performOperation({ name, parameters }, new Map())).toMatchObject({ resultCode: 'ERROR_IN_PARAM', steps: [] })
  })

  test('a reset forgets the variables that were set', () => {
    const variables = new Map<string, unknown>()
    performOperation(
      { name: 'SET_DEVICE_PARAMETERS', parameters: { variableList: [{ name: 'a', value: 1 }] } },
      variables,
    )
    expect(variables.get('a')).toBe(1)
    performOperation({ name: 'FACTORY_RESET', parameters: {} }, variables)
    expect(variables.size).toBe(0)
  })
})

describe('the words of the command line', () => {
  test('a latency is fixed, even between two bounds, or exponential', () => {
    const draws = (text: string) => {
      const random = randomOf(text)
      return Array.from({ length: 4000 }, () => drawLatencyMs(parseLatency(text), random))
    }
    expect(new Set(draws('200'))).toEqual(new Set([200]))
    const even = draws('50..500')
    expect([Math.min(...even) < 70, Math.max(...even) > 480]).toEqual([true, true])
    expect(even.every(ms => ms >= 50 && ms <= 500)).toBe(true)
    const exponential = draws('exp:200')
    expect(exponential.reduce((sum, ms) => sum + ms, 0) / exponential.length).toBeGreaterThan(180)
    expect(Math.max(...exponential)).toBeLessThanOrEqual(2000)
  })

  test.each(['', 'fast', '500..50', '-1', '1..2..3', '99999999999'])('the latency %j is refused', text => {
    expect(() => parseLatency(text)).toThrow('latency')
  })

  test('flows are dealt out by weight', () => {
    expect(flowPattern(parseFlows('mqtt=2, pull'))).toEqual(['mqtt', 'mqtt', 'pull'])
    for (const text of ['smoke', 'mqtt=x', 'mqtt=1=2', '']) expect(() => parseFlows(text)).toThrow('flows')
  })
})
