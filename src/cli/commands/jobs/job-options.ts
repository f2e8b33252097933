/** The options that say what a job is to do, on what, and its course: the same for running, planning and repeating one. */
import type { Command } from 'commander'
import type { Given, JobRequestSchema } from '../../../contract/client/client.ts'
import type { Run } from '../../frame/command.ts'
import { CommandFailed } from '../../frame/exit-codes.ts'
import { filterOf } from '../../reading/filters.ts'
import { contentOf, each, jsonObject, member, words } from '../../reading/values.ts'
import { declareCourse, withCourse } from './job-course.ts'

type Query = NonNullable<Given<'POST /operation/jobs'>['query']>

/** A job as it was asked for. The list of entities stands apart, which may be longer than one request takes. */
export interface AskedJob {
  readonly request: JobRequestSchema
  readonly entities: readonly string[]
  readonly query: Query
}

const RESOURCE_TYPES = ['device', 'asset', 'commsModule', 'subscription', 'subscriber'] as const

/** Adds the options. */
export function declareJob(command: Command): void {
  command
    .argument('[type]', 'the operation type, such as REBOOT_EQUIPMENT')
    .option('-p, --parameter <name=value>', 'a parameter; the value as JSON where it is JSON, else as text', each)
    .option('--parameters <json>', 'all parameters as one JSON object, or @FILE')
    .option('--request <file>', 'a whole job request as JSON, which the options here then change')
    .option('-e, --entity <ids>', 'run on these; with commas or given more than once', words)
    .option('-f, --file <file>', 'run on the entities in a file, one id a line; - for standard input')
    .option('-t, --tag <name>', 'run on everything that carries this tag')
    .option('--filter <json>', 'run on what a filter finds: JSON, or @FILE')
    .option('--where <condition>', 'run on what fits: field=value, field>value, field~pattern; all must hold', each)
    .option('--resource-type <kind>', `narrow a tag or a filter to one kind: ${RESOURCE_TYPES.join(', ')}`)
  declareCourse(command)
}

/** The whole request, with its list of entities in it. */
export function requestOf({ request, entities }: AskedJob): AskedJob['request'] {
  return entities.length === 0 ? request : { ...request, target: { append: { entities: [...entities] } } }
}

/** Reads the options. Fails with a usage error on what cannot be read; what is not allowed the service says. */
export async function readJob(run: Run, type: string | undefined): Promise<AskedJob> {
  const { surroundings, options } = run
  const given = options as Readonly<Record<string, string | undefined>>
  const base =
    given.request === undefined ? {} : requestIn(await jsonObject('--request', `@${given.request}`, surroundings))
  const name = type ?? base.name
  if (name === undefined) throw new CommandFailed('usage', 'Say which operation type to run, such as REBOOT_EQUIPMENT.')
  const { entities, target } = await readTarget(run)
  if (entities.length === 0 && !target && !base.target && options.inactive !== true) {
    throw new CommandFailed('usage', 'Say what to run it on: with --entity, --file, --tag, --where or --filter.')
  }
  const parameters = await readParameters(run)
  return {
    entities,
    query: readResourceType(given.resourceType),
    request: withCourse(run, { ...base, name, ...(parameters && { parameters }), ...(target && { target }) }),
  }
}

/** A request on its own, or in the body of the interface. */
function requestIn(document: Record<string, unknown>): Partial<JobRequestSchema> {
  const { job } = document as { job?: { request?: Partial<JobRequestSchema> } }
  return job?.request ?? document
}

async function readTarget(run: Run): Promise<{ entities: readonly string[]; target?: JobRequestSchema['target'] }> {
  const { entity, file, tag, filter, where } = run.options
  const ways = [entity ?? file, tag, filter ?? where].filter(way => way !== undefined)
  if (ways.length > 1)
    throw new CommandFailed('usage', 'A job runs on a list of entities, a tag or a filter: give one of them.')
  const listed = Array.isArray(entity) ? entity : []
  const inFile = typeof file === 'string' ? linesOf(await contentOf(file, run.surroundings)) : []
  if (typeof file === 'string' && inFile.length === 0) throw new CommandFailed('usage', `${file} names no entity.`)
  if (typeof tag === 'string') return { entities: [], target: { append: { tags: [tag] } } }
  const found = await filterOf({ filter, where }, run.surroundings)
  if (found) return { entities: [], target: { append: { filter: found } } }
  return { entities: [...listed, ...inFile] }
}

/** One id a line; empty lines and those that begin with # say nothing. */
function linesOf(text: string): string[] {
  return text
    .split(/\r?\n/)
    .map(line => line.trim())
    .filter(line => line !== '' && !line.startsWith('#'))
}

async function readParameters({ options, surroundings }: Run): Promise<Record<string, unknown> | undefined> {
  const { parameters, parameter } = options
  const whole = typeof parameters === 'string' ? await jsonObject('--parameters', parameters, surroundings) : {}
  const single = Array.isArray(parameter) ? parameter.map(text => member('--parameter', text)) : []
  const all = { ...whole, ...Object.fromEntries(single) }
  return Object.keys(all).length === 0 && parameters === undefined ? undefined : all
}

function readResourceType(kind: string | undefined): Query {
  if (kind === undefined) return {}
  const known = RESOURCE_TYPES.find(each => each === kind.replace(/^entity\./, ''))
  if (known === undefined) throw new CommandFailed('usage', `--resource-type is one of ${RESOURCE_TYPES.join(', ')}.`)
  return { resourceType: `entity.${known}` }
}
