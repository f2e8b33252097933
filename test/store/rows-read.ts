/** How many rows PostgreSQL reads to run a declared statement: what tests hold against growing with what is stored, instead of time. */
import { statements } from '../../src/store/statement.ts'

interface PlanNode {
  'Actual Rows': number
  'Actual Loops': number
  'Relation Name'?: string
  'Index Name'?: string
  'Rows Removed by Filter'?: number
  'Rows Removed by Index Recheck'?: number
  Plans?: PlanNode[]
}

interface Explaining {
  executeSql(text: string, values?: unknown[]): Promise<{ rows: Record<string, unknown>[] }>
}

function read(node: PlanNode): number {
  const scanned =
    node['Relation Name'] === undefined && node['Index Name'] === undefined
      ? 0
      : node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0) + (node['Rows Removed by Index Recheck'] ?? 0)
  return (node.Plans ?? []).reduce((sum, below) => sum + read(below), scanned * node['Actual Loops'])
}

/** Runs a declared statement and answers how many rows and index entries it read in all, those it threw away included. */
export async function rowsRead(database: Explaining, name: string, params: unknown[]): Promise<number> {
  const { text } = statements.find(each => each.name === name)!
  const { rows } = await database.executeSql(`explain (analyze, format json) ${text}`, params)
  const [{ Plan: plan }] = rows[0]!['QUERY PLAN'] as [{ Plan: PlanNode }]
  return Math.round(read(plan))
}
