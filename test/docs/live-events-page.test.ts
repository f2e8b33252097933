/** The page of live events, held to the schemas, the routes and the bounds of the code. */
import type { TObject, TSchema } from 'typebox'
import { expect, test } from 'vitest'
import { interfaceDocument } from '../../scripts/interface-document.ts'
import {
  JobEvent,
  JobEventsQuery,
  OperationEvent,
  OrganizationEventsQuery,
  SecondsEvent,
} from '../../src/contract/live-events.ts'
import { FIRST_JOBS_MAX, LIVE_REST_MS } from '../../src/engine/live-events.ts'
import { ENDED_MAX, WATCHED_DEPTH_MAX } from '../../src/engine/live-operations.ts'
import { HEARTBEAT_MS, RECONNECT_MS, UNSENT_MAX } from '../../src/north/event-streams.ts'
import { CHANGES_KEPT_MS } from '../../src/store/job-changes.ts'
import { codeIn, readPage } from './page.ts'

const page = await readPage('reference/live-events.md')

/** The members of an object, those of objects in it by their path; what is described elsewhere as a whole is one member. */
function members(schema: TObject): string[] {
  return Object.entries(schema.properties as Record<string, TSchema>).flatMap(([name, member]) => {
    const inner = 'items' in member ? (member.items as TSchema) : member
    if (!['seconds', 'attempts', 'execution'].includes(name) || !('properties' in inner)) return [name]
    return members(inner as TObject).map(each => `${name}${inner === member ? '' : '[]'}.${each}`)
  })
}

/** `a.b`, `.c` in one cell are members of the same object. */
function named(heading: string): string[] {
  return page.table(heading).flatMap(([cell]) => {
    const names = codeIn(cell!)
    const owner = names[0]!.split('.')[0]!
    return names.map(name => (name.startsWith('.') ? `${owner}${name}` : name))
  })
}

test.each([
  ['seconds', SecondsEvent],
  ['job', JobEvent],
  ['operation', OperationEvent],
])('the event %s is told with every member that it has, and no other', (event, schema) => {
  expect(named(`\`${event}\``)).toEqual(members(schema))
})

test('every stream that there is is on the page, and no other', async () => {
  const { paths } = await interfaceDocument()
  const streams = Object.entries(paths)
    .filter(([, { get }]) => Object.values(get?.responses ?? {}).some(({ content }) => content?.['text/event-stream']))
    .map(([path]) => path)
  const shown = page.table('Live events').map(([path]) => codeIn(path!)[0]!.replace('GET ', ''))
  expect(shown.toSorted()).toEqual(streams.toSorted())
  expect(streams).toHaveLength(3)
})

test('what a stream may be asked by stands with its defaults and bounds', () => {
  const bounds = (schema: TSchema) => schema as { readonly default?: unknown; readonly maximum?: number }
  const { operations, start, size } = JobEventsQuery.properties
  const [whether, first, of] = [bounds(operations), bounds(start), bounds(size)]
  expect(page.words).toContain(
    `| \`operations\` | both | \`${whether.default}\` | \`false\` leaves out \`operation\` events | ` +
      `| \`start\`, \`size\` | a job | ${first.default}, ${of.default} |`,
  )
  expect(page.words).toContain(
    `\`size\` up to ${of.maximum}, \`start\` × \`size\` up to ${WATCHED_DEPTH_MAX.toLocaleString('en')}`,
  )
  expect(Object.keys(JobEventsQuery.properties)).toEqual(['operations', 'start', 'size'])
  expect(Object.keys(OrganizationEventsQuery.properties)).toEqual(['operations'])
})

test('its spans and numbers are those of the code', () => {
  const minutes = CHANGES_KEPT_MS / 60_000
  expect([minutes, LIVE_REST_MS]).toEqual([10, 200])
  for (const words of [
    "what ended in each of the last ten minutes' seconds",
    `its newest ${FIRST_JOBS_MAX} open jobs`,
    'Several changes within a fifth of a second are one event',
    `at most the newest ${ENDED_MAX} of each second`,
    'Of an organization this holds for five minutes',
    `A comment line comes every ${HEARTBEAT_MS / 1_000} seconds`,
    `a client should come again after ${RECONNECT_MS / 1_000} seconds`,
    `for whom more than ${UNSENT_MAX / 1_048_576} MiB waits`,
    '`DROVER_LIVE_STREAMS_MAX`',
    '`DROVER_LIVE_STREAMS_PER_ORGANIZATION_MAX`',
  ]) {
    expect(page.words).toContain(words)
  }
})
