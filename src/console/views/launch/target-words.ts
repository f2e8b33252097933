/** Whom a draft is for, in words. Pure. */
import { count } from '../../figures.tsx'
import type { Condition, Draft } from './draft.ts'

/** How a condition compares, as it is chosen and as it is read. */
export const OPERATORS: readonly { readonly value: Condition['operator']; readonly label: string }[] = [
  { value: 'eq', label: 'is' },
  { value: 'neq', label: 'is not' },
  { value: 'like', label: 'matches' },
  { value: 'in', label: 'is one of' },
  { value: 'exists', label: 'is there' },
  { value: 'missing', label: 'is missing' },
]

const NAMED_MAX = 5

/** The target of a draft as a sentence would name it. */
export function wordsOfTarget(draft: Draft): string {
  if (draft.target === 'list') return wordsOfList([...new Set(draft.list)])
  const kind = draft.resourceType === '' ? '' : ` of ${draft.resourceType}`
  if (draft.target === 'tag') return `everything tagged ${draft.tag}${kind}`
  const conditions = draft.conditions.filter(({ field }) => field !== '')
  if (conditions.length === 0) return kind === '' ? 'everything the operation applies to' : `everything${kind}`
  const words = conditions.map(({ field, operator, value }) => {
    const compares = OPERATORS.find(each => each.value === operator)?.label ?? operator
    return operator === 'exists' || operator === 'missing' ? `${field} ${compares}` : `${field} ${compares} ${value}`
  })
  return `everything${kind} where ${words.join(draft.every ? ' and ' : ' or ')}`
}

function wordsOfList(list: readonly string[]): string {
  const named = list.slice(0, NAMED_MAX).join(', ')
  const more = list.length - NAMED_MAX
  return `a list of ${count(list.length)}: ${named}${more > 0 ? ` and ${count(more)} more` : ''}`
}
