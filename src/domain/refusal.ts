/**
 * Makes of the problems found in a client's input the one refusal that it is told. Finds no problem itself.
 * Serves: Errors.
 */
import { DroverError, type ErrorName } from './errors.ts'
import type { Problem } from './problems.ts'

const NAMES = {
  unknown: 'forbiddenField',
  missing: 'requiredField',
  invalid: 'invalidField',
  filter: 'invalidFilter',
} as const satisfies Record<Problem['kind'], ErrorName>

/** The refusal of one field, with the reason in words: `must be whole seconds`. */
export function invalidField(name: string, reason: string): DroverError {
  return new DroverError(NAMES.invalid, [{ name, value: reason }], `Invalid field: ${name} ${reason}.`)
}

/**
 * The refusal for one or more problems. Unknown members come before missing ones, these before invalid values, and broken filters come
 * last; the context names every field of the kind that is told, with the reason in words. The two known codes keep their known words.
 */
export function refusalOf(problems: readonly Problem[]): DroverError {
  const kind =
    (['unknown', 'missing', 'invalid'] as const).find(each => problems.some(problem => problem.kind === each)) ??
    'filter'
  const told = problems.filter(problem => problem.kind === kind)
  const context = told.map(({ path, message }) => ({ name: path, value: message }))
  if (kind === 'unknown' || kind === 'missing') return new DroverError(NAMES[kind], context)
  const words = told.map(({ path, message }) => `${path} ${message}`).join('; ')
  return new DroverError(
    NAMES[kind],
    context,
    `${kind === 'filter' ? 'The filter is not valid' : 'Invalid field'}: ${words}.`,
  )
}
