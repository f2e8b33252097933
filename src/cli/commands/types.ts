/** `drover types`: what can be run, and on what. Serves: Operation type. */
import type { Command } from 'commander'
import type { OperationTypeAnswer } from '../../contract/client/client.ts'
import { command, group } from '../frame/command.ts'
import { type Cell, facts, tableOr } from '../frame/output.ts'
import type { Surroundings } from '../frame/surroundings.ts'
import { jsonObject, words } from '../reading/values.ts'

/** The group of commands. */
export function typesCommand(surroundings: Surroundings): Command {
  return group({ usage: 'types', description: 'operation types: what can be run, and on what', examples: [] }, [
    listCommand(surroundings),
    showCommand(surroundings),
    cloneCommand(surroundings),
    createCommand(surroundings),
    deleteCommand(surroundings),
  ])
}

function listCommand(surroundings: Surroundings): Command {
  return command(
    surroundings,
    {
      usage: 'list',
      description: "the organization's own types, or those of the catalog",
      examples: [
        { meaning: 'what can be run', line: 'drover types list' },
        { meaning: 'what can be cloned', line: 'drover types list --catalog' },
      ],
      declare: made => {
        made.option('--catalog', 'those of the catalog, which can be cloned')
      },
    },
    async run => {
      const { client, organization } = await run.session()
      const types =
        run.options.catalog === true
          ? await client.call('GET /operationTypes/catalog')
          : ((await client.call('GET /operationTypes/provision/organizations/{organization}', {
              path: { organization: await organization() },
            })) ?? [])
      await run.out.answer(types, () => tableOr('No types.', TITLES, types.map(typeRow)))
      return undefined
    },
  )
}

const TITLES = ['name', 'title', 'applicable to', 'models', 'parameters', 'from catalog']

function typeRow({ name, title, applicableTo, models, parameters, fromCatalog }: OperationTypeAnswer): Cell[] {
  const kinds = (applicableTo ?? []).map(kind => kind.replace('entity.', '')).join(',')
  return [name, title, kinds, modelNames(models), parameterNames(parameters), fromCatalog]
}

function modelNames(models: OperationTypeAnswer['models']): string {
  return (models ?? []).map(model => (typeof model === 'string' ? model : model.name)).join(',')
}

/** The names in the schema, those that must be given marked. */
function parameterNames(parameters: OperationTypeAnswer['parameters']): string {
  const schema = (parameters?.schema ?? parameters ?? {}) as { properties?: object; required?: readonly string[] }
  const required = schema.required ?? []
  return Object.keys(schema.properties ?? {})
    .map(name => (required.includes(name) ? `${name}*` : name))
    .join(',')
}

function typeWords(type: OperationTypeAnswer): string {
  const about = facts([
    ['Name', type.name],
    ['Title', type.title],
    ['Description', type.description],
    ['Applicable to', type.applicableTo?.join(', ')],
    ['Models', modelNames(type.models)],
    ['Profiles', type.profiles?.join(', ')],
    ['From catalog', type.fromCatalog],
    ['Steps', type.steps?.map(({ name }) => name).join(', ')],
  ])
  const schema = type.parameters && Object.keys(type.parameters).length > 0
  return schema ? `${about}\nParameters\n${JSON.stringify(type.parameters, null, 2)}\n` : about
}

function showCommand(surroundings: Surroundings): Command {
  return command(
    surroundings,
    {
      usage: 'show <type>',
      description: 'one type with the schema of its parameters',
      examples: [{ meaning: 'what UPDATE wants to know', line: 'drover types show UPDATE' }],
      declare: made => {
        made.option('--catalog', 'the one of the catalog')
      },
    },
    async (run, operationName) => {
      const { client, organization } = await run.session()
      const type =
        run.options.catalog === true
          ? await client.call('GET /operationTypes/catalog/{operationName}', {
              path: { operationName: operationName! },
            })
          : await client.call('GET /operationTypes/provision/organizations/{organization}/{operationName}', {
              path: { organization: await organization(), operationName: operationName! },
            })
      await run.out.answer(type, () => typeWords(type))
      return undefined
    },
  )
}

function cloneCommand(surroundings: Surroundings): Command {
  return command(
    surroundings,
    {
      usage: 'clone <catalog-type> <name>',
      description: 'make a type of a catalog type, under a name of its own',
      examples: [
        {
          meaning: 'a reboot that only administrators may run',
          line: 'drover types clone REBOOT_EQUIPMENT REBOOT_AT_NIGHT --title "Reboot at night" --profiles admin,root',
        },
      ],
      declare: made => {
        made
          .option('--title <text>', 'its title')
          .option('--description <text>', 'what it is for')
          .option('--profiles <names>', 'who may run it; left out, everybody but viewers', words)
      },
    },
    async (run, fromCatalog, name) => {
      const { title, description, profiles } = run.options as Readonly<Record<string, unknown>>
      const body = {
        name: name!,
        fromCatalog: fromCatalog!,
        ...(typeof title === 'string' && { title }),
        ...(typeof description === 'string' && { description }),
        ...(Array.isArray(profiles) && { profiles }),
      }
      const { client, organization } = await run.session()
      const path = { organization: await organization() }
      const type = await client.call('POST /operationTypes/provision/organizations/{organization}', { path, body })
      await run.out.answer(type, () => typeWords(type))
      return undefined
    },
  )
}

function createCommand(surroundings: Surroundings): Command {
  return command(
    surroundings,
    {
      usage: 'create <file>',
      description: 'make a type from scratch, as JSON in a file; - for standard input',
      examples: [{ meaning: 'a type of your own', line: 'drover types create blink.json' }],
    },
    async (run, file) => {
      // The service is the judge of what is in it.
      const body = (await jsonObject('The file', `@${file}`, surroundings)) as OperationTypeAnswer
      const { client, organization } = await run.session()
      const path = { organization: await organization() }
      const type = await client.call('POST /operationTypes/provision/organizations/{organization}', { path, body })
      await run.out.answer(type, () => typeWords(type))
      return undefined
    },
  )
}

function deleteCommand(surroundings: Surroundings): Command {
  return command(
    surroundings,
    {
      usage: 'delete <type>',
      description: 'remove a type; its open operations and its tasks are cancelled',
      examples: [{ meaning: 'remove a type of your own', line: 'drover types delete REBOOT_AT_NIGHT' }],
    },
    async (run, operationName) => {
      const { client, organization } = await run.session()
      const path = { organization: await organization(), operationName: operationName! }
      const closed = await client.call(
        'DELETE /operationTypes/provision/organizations/{organization}/{operationName}',
        { path },
      )
      const { operations, tasks } = closed
      await run.out.answer(
        closed,
        () =>
          `${operationName} is removed; ${operations.length} operations and ${tasks.length} tasks of it are cancelled.`,
      )
      return undefined
    },
  )
}
