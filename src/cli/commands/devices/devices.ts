/** `drover devices`: import, list, show. Serves: Authentication and device-side endpoints (provisioning). */
import type { Command } from 'commander'
import { command, group } from '../../frame/command.ts'
import { type Cell, facts, table } from '../../frame/output.ts'
import type { Surroundings } from '../../frame/surroundings.ts'
import { anyValue, declareFilter, filterOf } from '../../reading/filters.ts'
import { count } from '../../reading/values.ts'
import { collected, foundRows, listedRows } from '../../rows/found-rows.ts'
import { OPERATION_TITLES, operationRow } from '../operations/operation-words.ts'
import { importCommand } from './devices-import.ts'

const LISTED = 50
/** Operations shown with a device. */
const OPERATIONS_SHOWN = 10

/** The group of commands. */
export function devicesCommand(surroundings: Surroundings): Command {
  return group({ usage: 'devices', description: 'devices: bring in, find and look at', examples: [] }, [
    importCommand(surroundings),
    listCommand(surroundings),
    showCommand(surroundings),
  ])
}

const COLUMNS = {
  id: 'provision.device.identifier',
  name: 'provision.device.name',
  model: 'provision.device.model',
  tags: 'provision.administration.tags',
  state: 'provision.device.administrativeState',
  flow: 'provision.device.operation.flow',
} as const

/** The present value of an id; an object with a name by its name. */
function present(entity: Readonly<Record<string, unknown>>, id: string): Cell {
  const box = entity[id] as { _value?: { _current?: { value?: unknown } } } | undefined
  const value = box?._value?._current?.value
  if (Array.isArray(value)) return value.join(',')
  if (typeof value !== 'object' || value === null) return value as Cell
  return 'name' in value ? String(value.name) : JSON.stringify(value)
}

function listCommand(surroundings: Surroundings): Command {
  return command(
    surroundings,
    {
      usage: 'list',
      description: 'devices, those with a tag, or those that fit a filter',
      examples: [
        { meaning: 'what a job on a tag would cover', line: 'drover devices list --tag meters' },
        {
          meaning: 'by what is known of them',
          line: 'drover devices list --where "provision.device.identifier~^meter-" --limit 5',
        },
        {
          meaning: 'those that went away',
          line: 'drover devices list --where connection.connected=false --where "connection.disconnectedDate>2026-01-01"',
        },
      ],
      declare: made => {
        made
          .option('--tag <name>', 'only those that carry this tag')
          .option('--limit <n>', 'at most so many', count, LISTED)
        declareFilter(made)
      },
    },
    async run => {
      const { out, options } = run
      const filter = await filterOf(options, surroundings, anyValue('tag', options.tag))
      const body = filter ? { filter } : {}
      const devices = await listedRows(run, 'POST /search/devices', body, { flattened: true })
      await out.answer(devices, () => {
        if (devices.length === 0) return 'No devices.'
        return table(
          Object.keys(COLUMNS),
          devices.map(device => Object.values(COLUMNS).map(id => present(device, id))),
        )
      })
      return undefined
    },
  )
}

function showCommand(surroundings: Surroundings): Command {
  return command(
    surroundings,
    {
      usage: 'show <device>',
      description: 'what is known of a device, and what it does',
      examples: [{ meaning: 'one device', line: 'drover devices show meter-1' }],
    },
    async (run, identifier) => {
      const { out } = run
      const { client, organization } = await run.session()
      const path = { organization: await organization(), identifier: identifier! }
      const query = { flattened: true }
      const device = await client.call('GET /provision/organizations/{organization}/devices/{identifier}', {
        path,
        query,
      })
      if (out.json) {
        await out.answer(device, () => '')
        return undefined
      }
      const filter = { eq: { entityId: identifier! } }
      const open = await collected(foundRows(client, 'POST /search/entities/operations', { filter }, OPERATIONS_SHOWN))
      const sort = { parameters: [{ name: 'operations.execution.finishedDate', type: 'DESCENDING' as const }] }
      const left = OPERATIONS_SHOWN - open.length
      const ended =
        left === 0
          ? []
          : await collected(foundRows(client, 'POST /search/entities/operations/history', { filter, sort }, left))
      const values = facts(Object.keys(device).map(id => [id, present(device, id)] as const))
      const operations = [...open, ...ended].map(operation => operationRow(operation, out))
      await out.write(operations.length === 0 ? values : `${values}\n${table(OPERATION_TITLES, operations)}`)
      return undefined
    },
  )
}
