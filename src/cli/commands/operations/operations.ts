/** `drover operations`: list and show. Serves: Operation, Job and operation search. */
import type { Command } from 'commander'
import type { OperationView } from '../../../contract/client/client.ts'
import { command, group, type Run } from '../../frame/command.ts'
import { CommandFailed } from '../../frame/exit-codes.ts'
import { createTable } from '../../frame/output.ts'
import type { Surroundings } from '../../frame/surroundings.ts'
import { allOf, anyValue, declareFilter, type Filter, filterOf } from '../../reading/filters.ts'
import { count, words } from '../../reading/values.ts'
import { countRows, foundRows } from '../../rows/found-rows.ts'
import { watched } from '../../rows/row-progress.ts'
import { OPERATION_TITLES, operationOf, operationRow, operationWords } from './operation-words.ts'

const LISTED = 50

/** The group of commands. */
export function operationsCommand(surroundings: Surroundings): Command {
  return group({ usage: 'operations', description: 'what a job did on each entity', examples: [] }, [
    listCommand(surroundings),
    showCommand(surroundings),
  ])
}

function listCommand(surroundings: Surroundings): Command {
  return command(
    surroundings,
    {
      usage: 'list',
      description: 'operations: those that are open, then those that ended',
      examples: [
        {
          meaning: 'the devices on which a job failed',
          line: 'drover operations list --job $JOB --result ERROR_PROCESSING,ERROR_TIMEOUT',
        },
        { meaning: 'what runs or waits on one device', line: 'drover operations list --entity meter-1 --open' },
        {
          meaning: 'every operation of a job, a line of JSON each',
          line: 'drover operations list --job $JOB --all --json',
        },
      ],
      declare: made => {
        made
          .option('--job <id>', 'only of this job')
          .option('--entity <ids>', 'only on these entities', words)
          .option('--type <names>', 'only of these operation types', words)
          .option('--status <words>', 'only in these statuses', words)
          .option('--result <words>', 'only with these results', words)
          .option('--open', 'only those that are open')
          .option('--ended', 'only those that ended')
          .option('--limit <n>', 'at most so many', count, LISTED)
          .option('--all', 'all of them, however many')
        declareFilter(made)
      },
    },
    async run => {
      const { out, options } = run
      const found = await operations(run, Number(options.all === true ? Number.POSITIVE_INFINITY : options.limit))
      if (out.json) {
        for await (const operation of found) await out.line(operation, () => '')
        return undefined
      }
      const shown = createTable(OPERATION_TITLES, out)
      for await (const operation of found) await shown.row(operationRow(operation, out))
      if ((await shown.end()) === 0) await out.write('No operations.\n')
      return undefined
    },
  )
}

/** Those that are open, then those that ended, with a bar where they are many. */
async function operations(run: Run, limit: number): Promise<AsyncIterable<OperationView>> {
  const { options, surroundings } = run
  if (options.open === true && options.ended === true)
    throw new CommandFailed('usage', 'Give --open or --ended, not both.')
  const { client } = await run.session()
  const filter = await filterOf(options, surroundings, ownFilters(options))
  const body = filter ? { filter } : {}
  const names = [
    ...(options.ended === true ? [] : (['POST /search/entities/operations'] as const)),
    ...(options.open === true ? [] : (['POST /search/entities/operations/history'] as const)),
  ]
  async function* rows() {
    let left = limit
    for (const name of names) {
      for await (const operation of foundRows(client, name, body, left)) {
        left -= 1
        yield operation
      }
    }
  }
  const count = async () => {
    const counts = await Promise.all(names.map(name => countRows(client, name, body)))
    return counts.reduce((sum, each) => sum + each, 0)
  }
  return watched(run, rows(), { count, limit })
}

function ownFilters({ job, entity, type, status, result }: Readonly<Record<string, unknown>>): Filter[] {
  const own = [
    ...anyValue('jobId', job),
    ...anyValue('entityId', entity),
    ...anyValue('operations.name', type),
    ...anyValue('operationStatus', status),
    ...anyValue('operationResult', result),
  ]
  const all = allOf(own)
  return all ? [all] : []
}

function showCommand(surroundings: Surroundings): Command {
  return command(
    surroundings,
    {
      usage: 'show <job-or-operation> [entity]',
      description: 'one operation with its steps, those of earlier attempts too',
      examples: [
        { meaning: 'by job and device', line: 'drover operations show $JOB meter-1' },
        { meaning: "by the operation's id, for programs", line: 'drover operations show $OPERATION --json' },
      ],
    },
    async (run, first, entity) => {
      const { client } = await run.session()
      const found = await operationOf(client, first!, entity)
      if (!found) throw new CommandFailed('notFound', `Job ${first} has no operation on ${entity}.`)
      const operation = await client.call('GET /operation/jobs/{jobId}/operations/{operationId}', { path: found })
      await run.out.answer(operation, () => operationWords(operation, run.out))
      return undefined
    },
  )
}
