/**
 * `drover devices import`: a file of entities, sent in parts, with a result for every row. A row that is refused stops no other. Keys
 * of new devices are told once, by the service: they go into a file that only its owner reads, or nowhere.
 */
import { type FileHandle, open } from 'node:fs/promises'
import type { Command } from 'commander'
import { type BulkRow, type Client, type Given, refusalWords } from '../../../contract/client/client.ts'
import { command, type Run } from '../../frame/command.ts'
import { CommandFailed } from '../../frame/exit-codes.ts'
import type { Surroundings } from '../../frame/surroundings.ts'
import { count } from '../../reading/values.ts'
import { formatOf, ROW_FORMATS, type RowBatch, type RowFormat, rowBatches } from './entity-rows.ts'

const ACTIONS = ['CREATE', 'UPDATE', 'PATCH', 'DELETE'] as const
/** Rows of one request: small enough to be answered soon. */
const BATCH = 1_000
/** Refused rows that are shown to people; programs and files get all. */
const SHOWN_MAX = 20

/** The command. */
export function importCommand(surroundings: Surroundings): Command {
  return command(
    surroundings,
    {
      usage: 'import <file>',
      description: 'create, change or delete entities in bulk, from CSV, JSON or JSON lines; - for standard input',
      examples: [
        { meaning: 'new devices, their keys kept', line: 'drover devices import devices.csv --keys keys.csv' },
        {
          meaning: 'change some values, a line of JSON for each row',
          line: 'drover devices import changes.json --action PATCH --json',
        },
        {
          meaning: 'from another program',
          line: 'drover devices import - --format ndjson --action PATCH < changes.ndjson',
        },
      ],
      declare: made => {
        made
          .option('--action <word>', `what is done with every row: ${ACTIONS.join(', ')}`, 'CREATE')
          .option('--format <word>', `${ROW_FORMATS.join(', ')}; left out, by the ending of the file`)
          .option('--nested', 'JSON rows are trees instead of maps from id to value')
          .option('--keys <file>', 'where the keys of new devices are written, as CSV, readable by you alone')
          .option('--batch <n>', 'rows of one request', count, BATCH)
      },
    },
    async (run, file) => {
      const action = oneOf(ACTIONS, '--action', String(run.options.action).toUpperCase())
      const format = formatMeant(run, file!)
      const { client, organization } = await run.session()
      const path = { organization: await organization() }
      const query = { action, flattened: run.options.nested !== true }
      const keys = typeof run.options.keys === 'string' ? await openKeys(run.options.keys) : undefined
      try {
        let share = 0
        const passed = (now: number) => {
          share = now
        }
        const batches = rowBatches(file!, format, Number(run.options.batch), surroundings.stdin, passed)
        return await importRows(run, client, { path, query }, batches, keys, () => share)
      } finally {
        await keys?.close()
      }
    },
  )
}

function oneOf<Word extends string>(words: readonly Word[], option: string, given: string): Word {
  const found = words.find(word => word === given)
  if (found === undefined) throw new CommandFailed('usage', `${option} is one of ${words.join(', ')}, not "${given}".`)
  return found
}

function formatMeant({ options }: Run, file: string): RowFormat {
  if (typeof options.format === 'string') return oneOf(ROW_FORMATS, '--format', options.format)
  const meant = formatOf(file)
  if (meant === undefined)
    throw new CommandFailed('usage', `Say with --format whether ${file} is ${ROW_FORMATS.join(', ')}.`)
  return meant
}

/** Keys that are already in a file are not written over: they are told once. */
async function openKeys(file: string): Promise<FileHandle> {
  const handle = await open(file, 'wx', 0o600).catch((error: NodeJS.ErrnoException) => {
    const why = error.code === 'EEXIST' ? 'is there already, and keys are not written over' : error.message
    throw new CommandFailed('usage', `${file} ${why}.`)
  })
  await handle.write('identifier;apiKey\n')
  return handle
}

type Address = Pick<Given<'POST /provision/organizations/{organization}/bulk/entities'>, 'path' | 'query'>

async function importRows(
  { out }: Run,
  client: Client,
  address: Address,
  batches: AsyncIterable<RowBatch>,
  keys: FileHandle | undefined,
  share: () => number,
): Promise<'failed' | undefined> {
  let [done, refused, keysUnkept] = [0, 0, 0]
  const progress = out.progress('Importing')
  try {
    for await (const { body } of batches) {
      const answer = await client.call('POST /provision/organizations/{organization}/bulk/entities', {
        ...address,
        body,
      })
      for (const row of answer.entities) {
        done += 1
        if (row.errors) refused += 1
        if (row.apiKey !== undefined && keys) await keys.write(`${cell(row.identifier ?? '')};${row.apiKey}\n`)
        else if (row.apiKey !== undefined) keysUnkept += 1
        const { apiKey: _secret, ...shown } = row
        if (out.json) await out.line({ row: done, ...shown }, () => '')
        else if (row.errors && refused <= SHOWN_MAX) await out.write(rowWords(done, row))
      }
      progress.show(share(), `${done} rows, ${refused} refused`)
      if (answer.errors) throw new CommandFailed('refused', answer.errors.map(refusalWords).join(' '))
    }
  } finally {
    progress.end()
  }
  if (!out.json) {
    const more = refused > SHOWN_MAX ? ` The first ${SHOWN_MAX} are above; --json tells all.` : ''
    await out.write(`${done} rows: ${done - refused} done, ${refused} refused.${more}\n`)
  }
  if (keysUnkept > 0) out.remark(`${keysUnkept} devices were given keys that nobody kept; --keys FILE keeps them.`)
  return refused > 0 ? 'failed' : undefined
}

function rowWords(row: number, { identifier, errors = [] }: BulkRow): string {
  return `row ${row}${identifier === undefined ? '' : ` ${identifier}`}: ${errors.map(refusalWords).join(' ')}\n`
}

const cell = (text: string) => (/[;"\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text)
