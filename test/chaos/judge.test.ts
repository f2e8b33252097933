import { describe, expect, test } from 'vitest'
import type { JobView } from '../../src/contract/job.ts'
import type { OperationView } from '../../src/contract/operation.ts'
import { recount } from '../service/jobs.ts'
import type { DoneFault } from './faults.ts'
import { judgeCalls, judgeGates, judgeJob, judgeOperation, judgeParts, judgeTarget } from './judge.ts'
import type { HeardCall } from './receiver.ts'
import type { Seen } from './seen.ts'
import type { StoryKind } from './stories.ts'

const AT = Date.parse('2026-11-21T10:00:00Z')
const iso = (at: number) => new Date(at).toISOString()
const name = 'a job'

/** Half a minute of one operation that its device did, but for what is said of it. */
function operation(of: Partial<OperationView> = {}): OperationView {
  return {
    operationId: 'op',
    jobId: '1',
    entityId: 'a device',
    resourceType: 'entity.device',
    name: 'REBOOT_EQUIPMENT',
    parameters: {},
    attempts: { total: 3, current: 1 },
    notify: false,
    execution: { activatedDate: iso(AT), startedDate: iso(AT), finishedDate: iso(AT + 30_000) },
    user: 'a@b',
    status: 'FINISHED',
    result: 'SUCCESSFUL',
    description: '',
    date: iso(AT),
    userNotes: '',
    steps: [{ name: 'BEGINREBOOT', timestamp: iso(AT), result: 'SUCCESSFUL' }],
    ...of,
  }
}

function seen(of: Partial<Seen> = {}): Seen {
  return {
    device: 'a device',
    receivedAt: [AT],
    launches: new Map([[AT, [AT]]]),
    doneFor: [AT],
    takenAt: [],
    partsAt: [],
    finalSentAt: AT + 29_000,
    ...of,
  }
}

/** A job that has ended so, with counters of these operations. */
function job(
  status: JobView['report']['summary']['status'],
  operations: readonly OperationView[] = [operation()],
  execution = { activatedDate: iso(AT), startedDate: iso(AT), finishedDate: iso(AT + 31_000) },
): JobView {
  return { id: '1', request: {}, report: { execution, summary: { status, ...recount(operations) } } }
}

describe('the judge of a target', () => {
  const devices = ['a device', 'another']
  const both = devices.map(entityId => operation({ entityId }))
  const judged = (operations: readonly OperationView[]) => judgeTarget(name, { devices }, operations)

  test('holds one operation of each device, in a final state, and nothing else', () => {
    expect(judged(both)).toEqual([])
    expect(judged(both.slice(1))).toEqual(['1: a job lacks 1 devices, has 0 others and 0 twice'])
    expect(judged([...both, operation({ entityId: 'a stranger' })])).toEqual([
      '1: a job lacks 0 devices, has 1 others and 0 twice',
    ])
    expect(judged([...both, operation()])).toEqual(['1: a job lacks 0 devices, has 0 others and 1 twice'])
    expect(judged([both[0]!, operation({ entityId: 'another', status: 'QUEUED' })])).toEqual([
      '1: a job has ended with 1 open operations, op is QUEUED',
    ])
  })
})

describe('the judge of a job', () => {
  const judged = (
    kind: StoryKind,
    end: JobView,
    { now = end, cancelTaken = false, operations = [operation()] as readonly OperationView[] } = {},
  ) => judgeJob(name, { kind, cancelTaken, end }, now, operations)

  test('finds counters that are not those of the listing', () => {
    expect(judged('plain', job('FINISHED'))).toEqual([])
    expect(judged('plain', job('FINISHED'), { operations: [operation({ status: 'CANCELLED' })] })).toEqual([
      expect.stringMatching(/^2: a job counts .*, its operations are /),
    ])
  })

  test('finds an end that changed afterwards', () => {
    expect(judged('plain', job('FINISHED'), { now: job('FINISHED_WITH_ERRORS') })).toEqual([
      '1: a job had ended FINISHED, and is FINISHED_WITH_ERRORS',
    ])
    const later = { activatedDate: iso(AT), startedDate: iso(AT), finishedDate: iso(AT + 32_000) }
    expect(judged('plain', job('FINISHED'), { now: job('FINISHED', [operation()], later) })).toEqual([
      '1: a job had ended FINISHED, and is FINISHED',
    ])
  })

  test.for([
    ['plain', 'CANCELLED'],
    ['plain', 'TIMEOUT_CANCELLED'],
    ['closed', 'FINISHED'],
    ['cancelled', 'TIMEOUT_CANCELLED'],
    ['paused', 'CANCELLED'],
    ['stopped', 'CANCELLED'],
  ] as const)('finds a %s job that ended %s', ([kind, status]) => {
    expect(judged(kind, job(status))).toEqual([`1: a job ended ${status}`])
  })

  test('takes a cancel that was answered 200 for a promise, and one that came too late for none', () => {
    for (const kind of ['cancelled', 'closing', 'closed'] as const) {
      expect(judged(kind, job('CANCELLED'), { cancelTaken: true })).toEqual([])
      expect(judged(kind, job('FINISHED_WITH_ERRORS'), { cancelTaken: true })).toEqual([
        '6: the cancel of a job was taken, and it ended FINISHED_WITH_ERRORS',
      ])
    }
    expect(judged('cancelled', job('FINISHED'))).toEqual([])
    // A first try may have done it and not been answered.
    expect(judged('cancelled', job('CANCELLED'))).toEqual([])
  })
})

describe('the judge of an operation', () => {
  const judged = (of: Partial<OperationView>, saw: Partial<Seen> = {}, taken: readonly number[] = []) =>
    judgeOperation(name, operation(of), seen(saw), 'pull', taken)
  const launches = new Map([
    [AT, [AT]],
    [AT + 9_000, [AT + 9_000]],
  ])

  test('finds one that came to the device of another entity', () => {
    expect(judged({})).toEqual([])
    expect(judged({}, { device: 'another' })).toEqual(['8: op of a job is on a device, and another had it'])
  })

  test('finds more attempts than there may be, and more launches than attempts', () => {
    expect(judged({ attempts: { total: 3, current: 2 } }, { launches })).toEqual([])
    expect(judged({ attempts: { total: 3, current: 4 } })).toEqual([
      '5: op of a job had 4 of 3 attempts, and came to its device in 1 launches',
    ])
    expect(judged({}, { launches })).toEqual([
      '5: op of a job had 1 of 3 attempts, and came to its device in 2 launches',
    ])
  })

  test('finds an answer that was taken and lost', () => {
    expect(judged({ status: 'FINISHED_OUT_OF_TIME' }, {}, [AT])).toEqual([])
    expect(judged({ status: 'TIMEOUT_CANCELLED', result: 'ERROR_TIMEOUT' }, {}, [AT])).toEqual([
      '6: the answer to op of a job was taken (pull, 10:00:00.000), and it is TIMEOUT_CANCELLED',
    ])
  })
})

describe('the judge of parts', () => {
  const judged = (of: Partial<OperationView>, partsAt: number[], isKept = true) =>
    judgeParts(name, operation(of), seen({ partsAt }), 'pull', () => isKept)

  test('finds a part that was taken before the end and is no step', () => {
    const lost = ['6: a part of op of a job was taken (pull, 10:00:05.000), and it has no step BEGINREBOOT']
    expect(judged({ steps: [] }, [AT + 5_000])).toEqual(lost)
    expect(judged({}, [AT + 5_000])).toEqual([])
  })

  test('lets it be a step of an earlier attempt, come after the end, or be one that a broker forgot', () => {
    const [step] = operation().steps
    const past = { attempt: 1, startedDate: iso(AT), finishedDate: iso(AT), result: 'ERROR_TIMEOUT', steps: [step!] }
    const attempts = { total: 3, current: 2, history: [past] } as OperationView['attempts']
    expect(judged({ steps: [], attempts }, [AT + 5_000])).toEqual([])
    expect(judged({ steps: [] }, [AT + 29_500])).toEqual([])
    expect(judged({ steps: [] }, [AT + 5_000], false)).toEqual([])
    expect(judged({ steps: [], status: 'FINISHED_OUT_OF_TIME' }, [AT + 5_000])).toEqual([])
  })
})

describe('the judge of gates', () => {
  const gate = { why: 'paused', from: AT, to: AT + 60_000 }
  const judged = (at: number, { closed = gate, lateMs = 0, faults = [] as readonly DoneFault[] } = {}) =>
    judgeGates(name, { closed: [closed] }, operation(), seen({ receivedAt: [at] }), 'pull', faults, {
      lag: { between: () => lateMs },
      reachedLateMs: () => 0,
    })

  test('finds what came to its device while its job might not launch, but what was in hand', () => {
    expect(judged(AT + 10_000)).toEqual([
      '3: op of a job came to its device 10000 ms after the job was paused (pull, at 10:00:10.000, in all 10:00:10.000)',
    ])
    for (const at of [AT - 1, AT + 3_400, AT + 60_000]) expect(judged(at)).toEqual([])
    expect(judged(AT + 3_600)).toHaveLength(1)
  })

  test('lets nothing be in hand of a job that could not launch from the beginning, however late everything was', () => {
    const closed = { ...gate, from: 0 }
    expect(judged(AT + 1, { closed, lateMs: 9_000 })).toHaveLength(1)
    expect(judged(AT + 60_000, { closed })).toEqual([])
  })

  test('counts how late this machine was, and what a frozen fleet had not read', () => {
    expect(judged(AT + 10_000, { lateMs: 4_000 })).toEqual([])
    const freeze = { afterMs: 0, forMs: 0, node: 0, onTop: false, fromMs: AT + 5_000, toMs: AT + 7_000 }
    expect(judged(AT + 10_000, { faults: [{ ...freeze, fault: 'freeze the fleet' }] })).toEqual([])
    expect(judged(AT + 10_000, { faults: [{ ...freeze, fault: 'freeze a node' }] })).toHaveLength(1)
    expect(judged(AT + 12_000, { faults: [{ ...freeze, fault: 'freeze the fleet' }] })).toHaveLength(1)
  })
})

describe('the judge of calls', () => {
  const call = (event: string, taken = true): HeardCall => ({ event, at: AT, taken })
  const judged = (calls: readonly HeardCall[], end = job('FINISHED')) =>
    judgeCalls(name, { receiver: { heard: new Map([['1', calls]]) } }, { id: '1', end })
  const [started, finished] = [call('jobStarted'), call('jobFinished')]

  test('finds a start or an end that was never told, or was refused each time', () => {
    expect(judged([started, started, finished])).toEqual([])
    expect(judged([started])).toEqual(['7: the end of a job was never told'])
    expect(judged([started, call('jobFinished', false)])).toEqual(['7: the end of a job was never told'])
    expect(judged([finished])).toEqual(['7: the start of a job was never told'])
    expect(judged([])).toHaveLength(2)
  })

  test('finds an end that was told before its start, also where that was refused', () => {
    const before = ['7: the end of a job was told before its start']
    expect(judged([finished, started])).toEqual(before)
    expect(judged([call('jobFinished', false), started, finished])).toEqual(before)
  })

  test('asks no start of a job that never started', () => {
    const never = { activatedDate: iso(AT), startedDate: '', finishedDate: iso(AT) }
    expect(judged([finished], job('CANCELLED', [], never))).toEqual([])
    expect(judged([], job('CANCELLED', [], never))).toHaveLength(1)
  })
})
