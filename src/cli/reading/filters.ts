/** Filters of searches and targets as options write them: as JSON, or condition by condition. The service is their judge. */
import type { Command } from 'commander'
import { CommandFailed } from '../frame/exit-codes.ts'
import type { Surroundings } from '../frame/surroundings.ts'
import { each, jsonObject } from './values.ts'

export type Filter = Record<string, unknown>

/** Adds the options that say which rows are meant. */
export function declareFilter(command: Command): void {
  command
    .option('--filter <json>', 'a filter as JSON, or @FILE')
    .option(
      '--where <condition>',
      'field=value, field!=value, field>value, field<value or field~pattern; all must hold',
      each,
    )
}

const OPERATORS = { '!=': 'neq', '>=': 'gte', '<=': 'lte', '=': 'eq', '>': 'gt', '<': 'lt', '~': 'like' } as const

/** The filter that the options say, with those of the command itself; undefined where everything is meant. */
export async function filterOf(
  { filter, where }: Readonly<Record<string, unknown>>,
  surroundings: Surroundings,
  own: readonly Filter[] = [],
): Promise<Filter | undefined> {
  const given = typeof filter === 'string' ? [await jsonObject('--filter', filter, surroundings)] : []
  const conditions = Array.isArray(where) ? where.map(conditionOf) : []
  return allOf([...own, ...given, ...conditions])
}

/** What holds where all of these do. */
export function allOf(parts: readonly Filter[]): Filter | undefined {
  return parts.length < 2 ? parts[0] : { and: parts }
}

/** A field that has one of the values; nothing where none is given. */
export function anyValue(field: string, values: unknown): Filter[] {
  if (typeof values === 'string') return [{ eq: { [field]: values } }]
  if (!Array.isArray(values) || values.length === 0) return []
  return values.length === 1 ? [{ eq: { [field]: values[0] } }] : [{ in: { [field]: values } }]
}

function conditionOf(text: string): Filter {
  const [, field, operator, value] = /^([^=!<>~]+)(!=|>=|<=|=|>|<|~)(.*)$/s.exec(text) ?? []
  const word = OPERATORS[operator as keyof typeof OPERATORS]
  if (field === undefined || word === undefined || value === undefined) {
    throw new CommandFailed(
      'usage',
      `--where must be such as field=value, field>value or field~pattern, not "${text}".`,
    )
  }
  return { [word]: { [field.trim()]: value.trim() } }
}
