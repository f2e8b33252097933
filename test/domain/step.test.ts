import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  FIRST_STEPS_KEPT,
  keptStep,
  mergeSteps,
  type ReportedStep,
  STEP_RESULTS,
  STEPS_MAX,
  type Step,
} from '../../src/domain/step.ts'

const at = Date.UTC(2026, 2, 2, 10)
const reported: fc.Arbitrary<ReportedStep> = fc
  .record({ name: fc.constantFrom('A', 'B', 'C', 'D'), result: fc.constantFrom(...STEP_RESULTS) })
  .map(step => step)

test('a step keeps its timestamp, or takes that of its message', () => {
  expect(keptStep({ name: 'A', result: 'SUCCESSFUL', timestamp: at - 5 }, at).timestamp).toBe(
    '2026-03-02T09:59:59.995Z',
  )
  expect(keptStep({ name: 'A', result: 'SUCCESSFUL' }, at).timestamp).toBe('2026-03-02T10:00:00.000Z')
})

test.each(STEP_RESULTS)('%s is kept as it is', result => {
  expect(keptStep({ name: 'A', result }, at)).toEqual({ name: 'A', result, timestamp: new Date(at).toISOString() })
})

test('a result outside the four words is ERROR, with the word in the description', () => {
  expect(keptStep({ name: 'A', result: 'FINE' }, at)).toMatchObject({ result: 'ERROR', description: 'result FINE' })
  expect(keptStep({ name: 'A', result: 'FINE', description: 'so far' }, at).description).toBe('so far; result FINE')
  expect(keptStep({ name: 'A' }, at)).toMatchObject({ result: 'ERROR', description: 'result missing' })
})

test('a repeat replaces its step, in place', () => {
  const kept = mergeSteps(
    [],
    [
      { name: 'A', result: 'ERROR' },
      { name: 'B', result: 'SUCCESSFUL' },
    ],
    at,
  )
  const grown = mergeSteps(
    kept,
    [
      { name: 'C', result: 'SKIPPED' },
      { name: 'A', result: 'SUCCESSFUL' },
    ],
    at,
  )
  expect(grown.map(({ name, result }) => [name, result])).toEqual([
    ['A', 'SUCCESSFUL'],
    ['B', 'SUCCESSFUL'],
    ['C', 'SKIPPED'],
  ])
})

test('steps that come in parts are the same as steps that come at once', () => {
  fc.assert(
    fc.property(fc.array(reported), fc.nat(), (steps, cut) => {
      const [first, second] = [steps.slice(0, cut % (steps.length + 1)), steps.slice(cut % (steps.length + 1))]
      expect(mergeSteps(mergeSteps([], first, at), second, at)).toEqual(mergeSteps([], steps, at))
    }),
  )
})

test('names are never repeated, and their order is that of first appearance', () => {
  fc.assert(
    fc.property(fc.array(reported), steps => {
      const names = mergeSteps([], steps, at).map(({ name }) => name)
      expect(names).toEqual([...new Set(steps.map(({ name }) => name))])
    }),
  )
})

const numbered = (from: number, to: number) =>
  Array.from({ length: to - from }, (_, i) => ({ name: `S${from + i}`, result: 'SUCCESSFUL' }))
const namesOf = (steps: readonly { name: string }[]) => steps.map(({ name }) => name)

test('of more steps than are kept the first and the newest stay', () => {
  const expected = [...numbered(0, FIRST_STEPS_KEPT), ...numbered(1_000 - (STEPS_MAX - FIRST_STEPS_KEPT), 1_000)]
  expect(namesOf(mergeSteps([], numbered(0, 1_000), at))).toEqual(namesOf(expected))
  const inParts = numbered(0, 1_000).reduce<Step[]>((kept, step) => mergeSteps(kept, [step], at), [])
  expect(namesOf(inParts)).toEqual(namesOf(expected))
})

test('the step of the final response is kept, however many came before it', () => {
  const full = mergeSteps([], numbered(0, STEPS_MAX), at)
  const grown = mergeSteps(
    full,
    [
      { name: 'S0', result: 'ERROR' },
      { name: 'END', result: 'ERROR' },
    ],
    at,
  )
  expect(grown.length).toBe(STEPS_MAX)
  expect(grown[0]).toMatchObject({ name: 'S0', result: 'ERROR' })
  expect(grown.at(-1)).toMatchObject({ name: 'END', result: 'ERROR' })
})

test('a step that went and is named again is a new one', () => {
  const grown = mergeSteps(mergeSteps([], numbered(0, STEPS_MAX + 1), at), numbered(100, 101), at)
  expect(namesOf(grown).slice(-2)).toEqual(['S200', 'S100'])
})
