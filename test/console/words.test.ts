/** The parts of the bar of a job: each counter of its summary under its own name, with the operations that it stands for. */
import { beforeAll, describe, expect, test, vi } from 'vitest'
import type { JobView } from '../../src/contract/client/client.ts'

/** A report in which every number occurs once. */
const report = {
  summary: {
    status: 'IN_PROGRESS',
    total: 0,
    inProgress: { total: 0, scheduled: 1, pendingExecution: 2, waitingForConnection: 3, started: 4 },
    finished: {
      total: 0,
      successful: 5,
      error: 6,
      cancelled: {
        total: 0,
        byUser: 7,
        byEngine: 8,
        byTimeout: 9,
        byExternalTimeout: 10,
        byExternal: 11,
        byAlreadyInProgress: 12,
      },
    },
    finishedOutOfTime: { total: 0, successful: 13, error: 14 },
  },
  target: {
    notProvisioned: Array.from({ length: 15 }, (_, index) => `n${index}`),
    notAllowed: { count: 16, first: ['a'] },
    duplicated: Array.from({ length: 17 }, (_, index) => `d${index}`),
  },
} as unknown as JobView['report']

/** What operations of a part are: open ones by their status, ended ones by what they are counted as. */
const open = (...statuses: string[]) => ({ in: { 'operations.status': statuses } })
const ended = (counter: string) => ({ eq: { 'operations.counter': counter } })

const PARTS: readonly (readonly [label: string, count: number, filter: object | null])[] = [
  ['Successful', 5, ended('successful')],
  ['Failed', 6, ended('error')],
  ['Cancelled by timeout', 9, ended('byTimeout')],
  ['Cancelled by user', 7, ended('byUser')],
  ['Cancelled by engine', 8, ended('byEngine')],
  ['Cancelled by external timeout', 10, ended('byExternalTimeout')],
  ['Cancelled externally', 11, ended('byExternal')],
  ['Already in progress', 12, ended('byAlreadyInProgress')],
  ['Late, successful', 13, ended('outOfTimeSuccessful')],
  ['Late, failed', 14, ended('outOfTimeError')],
  ['Started', 4, open('IN_PROGRESS')],
  ['Pending execution', 2, open('QUEUED', 'WAITING_FOR_ACK')],
  ['Waiting for connection', 3, open('WAITING_FOR_CONNECTION')],
  ['Scheduled', 1, open('PENDING')],
  // What was refused has no operations.
  ['Refused: not provisioned', 15, null],
  ['Refused: not allowed', 16, null],
  ['Refused: duplicated', 17, null],
]

describe('the colour of an operation', () => {
  test.each([
    ['FINISHED', 'SUCCESSFUL', 'good'],
    ['FINISHED', 'PARTIAL_SUCCESS', 'good'],
    ['FINISHED', 'ERROR_PROCESSING', 'bad'],
    ['FINISHED', 'ERROR_TIMEOUT', 'timeout'],
    ['CANCELLED', 'CANCELLED_INTERNAL', 'cancelled'],
    ['FINISHED_OUT_OF_TIME', 'SUCCESSFUL', 'late'],
    ['IN_PROGRESS', 'OPERATION_PENDING', 'running'],
  ])('that is %s with %s is that of %s', async (status, result, tone) => {
    vi.stubGlobal('localStorage', { getItem: () => null })
    vi.stubGlobal('addEventListener', () => {})
    const { toneOfOperation } = await import('../../src/console/words.ts')
    expect(toneOfOperation(status, result)).toBe(tone)
  })
})

describe('the bar of all entities of a job', () => {
  let sharesOf: typeof import('../../src/console/words.ts').sharesOf
  let searchOf: typeof import('../../src/console/views/job/operation-filter.ts').searchOf

  beforeAll(async () => {
    vi.stubGlobal('localStorage', { getItem: () => null })
    vi.stubGlobal('addEventListener', () => {})
    ;({ sharesOf } = await import('../../src/console/words.ts'))
    ;({ searchOf } = await import('../../src/console/views/job/operation-filter.ts'))
  })

  test('has a part for every counter, with its name and its number', () => {
    expect(sharesOf(report).map(({ label, count }) => [label, count])).toEqual(
      PARTS.map(([label, count]) => [label, count]),
    )
    expect(new Set(sharesOf(report).map(({ key }) => key)).size).toBe(PARTS.length)
  })

  test.each(PARTS)('%s leads to the operations that are so', (label, _, filter) => {
    const share = sharesOf(report).find(each => each.label === label)
    expect(share?.group === 'refused').toBe(filter === null)
    if (!share || filter === null) return
    const search = searchOf('0123', { share: share.key, failure: null, entity: '' })
    expect(search?.filter).toEqual({ and: [{ eq: { 'operations.jobId': '0123' } }, filter] })
    const isOpen = share.group === 'open'
    expect(search?.name).toBe(`POST /search/entities/operations${isOpen ? '' : '/history'}`)
  })
})
