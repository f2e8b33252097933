import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import type { Flow } from '../../src/simulator/options.ts'
import type { DoneFault } from './faults.ts'
import { type Happened, judgeRepeats } from './repeats.ts'
import type { FaultName } from './schedule.ts'
import type { Seen } from './seen.ts'
import { type GivenBack, readTold, type Silence } from './told.ts'

const AT = 1_000_000
const LAUNCH = AT - 500

function seen(launches: readonly (readonly [number, readonly number[]])[], doneFor: number[] = [LAUNCH]): Seen {
  const byLaunch = new Map(launches.map(([launchedAt, receivedAt]) => [launchedAt, [...receivedAt]]))
  return {
    device: 'a device',
    receivedAt: [...byLaunch.values()].flat(),
    launches: byLaunch,
    doneFor,
    takenAt: [],
    partsAt: [],
    finalSentAt: AT,
  }
}

function happened(
  back: readonly GivenBack[] = [],
  faults: readonly DoneFault[] = [],
  silences: readonly Silence[] = [],
  embedded = false,
): Happened {
  const told = { givenBack: new Map([['op', back]]), silences }
  return { faults, told, lag: { between: () => 0 }, embedded }
}

function fault(name: FaultName, fromMs: number, toMs = fromMs, node = 0): DoneFault {
  return { fault: name, fromMs, toMs, node, afterMs: 0, forMs: toMs - fromMs, onTop: false }
}

const judge = (of: Seen, flow: Flow, what: Happened) => judgeRepeats('a job', 'op', of, flow, what)
const twice = seen([[LAUNCH, [AT, AT + 8_000]]])
const lost: GivenBack = { cause: 'sender lost', at: AT + 7_000, sender: 0, by: 1 }
const notSent: GivenBack = { cause: 'not sent', at: AT + 7_000, sender: 0, by: 0 }

describe('the judge of repeats', () => {
  test('lets what failed be done again for a later launch, and nothing twice for one', () => {
    const retried = [
      [LAUNCH, [AT]],
      [AT + 9_000, [AT + 9_500]],
    ] as const
    expect(judge(seen(retried, [LAUNCH, AT + 9_000]), 'mqtt', happened())).toEqual([])
    expect(judge(seen(retried, [LAUNCH, LAUNCH]), 'mqtt', happened())).toEqual([
      expect.stringContaining('was done 2 times for its launch'),
    ])
  })

  test.each(['http-sync', 'http-async', 'mqtt'] as const)(
    'refuses a repeat over %s for which there is no cause',
    flow => {
      const again = [expect.stringContaining('and nothing had happened')]
      expect(judge(twice, flow, happened())).toEqual(again)
      expect(judge(twice, flow, happened([], [fault('kill a node', AT + 2_000)]))).toEqual(again)
      expect(judge(twice, flow, happened([notSent]))).toEqual(again)
    },
  )

  test('lets a lost sender be one that was hit or silent between the sending and the repeat, and no other', () => {
    const of = (...what: Parameters<typeof happened>) => judge(twice, 'http-sync', happened(...what)).length
    expect(of([lost], [fault('kill a node', AT + 2_000)])).toBe(0)
    expect(of([lost], [], [{ node: 0, fromMs: AT + 1_000, toMs: AT + 7_500 }])).toBe(0)
    expect(of([lost])).toBe(1)
    expect(of([lost], [fault('kill a node', AT + 2_000, AT + 2_000, 1)])).toBe(1)
    expect(of([lost], [fault('kill a node', AT - 30_000)])).toBe(1)
    expect(of([lost], [fault('stop the database', AT + 2_000)])).toBe(1)
    expect(of([{ ...lost, by: 0 }], [], [{ node: 0, fromMs: AT + 1_000, toMs: AT + 7_500 }])).toBe(1)
    expect(of([{ ...lost, at: AT + 20_000 }], [fault('kill a node', AT + 2_000)])).toBe(1)
  })

  test('lets what a broker had not acknowledged when its connection broke be sent again, over MQTT alone', () => {
    const cut = [fault('cut the connections of the broker', AT + 6_900)]
    expect(judge(twice, 'mqtt', happened([notSent], cut))).toEqual([])
    expect(judge(twice, 'http-async', happened([notSent], cut))).toHaveLength(1)
  })

  test('lets a request go out once more whose kept connection was cut, over HTTP alone and at once', () => {
    const cut = (at: number) => happened([], [fault('cut the connections of devices', at)])
    expect(judge(twice, 'http-sync', cut(AT + 7_500))).toEqual([])
    expect(judge(twice, 'http-async', cut(AT + 7_500))).toEqual([])
    expect(judge(twice, 'mqtt', cut(AT + 7_500))).toHaveLength(1)
    expect(judge(twice, 'http-sync', cut(AT + 2_000))).toHaveLength(1)
  })

  test('lets a device that asks be offered again what it was silent about for the time of a second offer', () => {
    const silent = (silentMs: number): GivenBack => ({
      cause: 'not heard of',
      at: AT + 7_900,
      sender: 0,
      by: 0,
      silentMs,
    })
    expect(judge(twice, 'pull', happened([silent(5_000)]))).toEqual([])
    expect(judge(twice, 'pull', happened([silent(4_999)]))).toHaveLength(1)
    expect(judge(twice, 'http-sync', happened([silent(5_000)]))).toHaveLength(1)
    expect(judge(twice, 'pull', happened([], [fault('kill a node', AT + 2_000)]))).toHaveLength(1)
  })

  test('lets the broker of a node send again to a device whose connection was cut', () => {
    const cut = [fault('cut the connections of devices', AT + 5_000)]
    expect(judge(twice, 'mqtt', happened([], cut, [], true))).toEqual([])
    expect(judge(twice, 'mqtt', happened([], cut))).toHaveLength(1)
    expect(judge(twice, 'mqtt', happened([], [], [], true))).toHaveLength(1)
  })
})

describe('what nodes tell', () => {
  const folders: string[] = []
  afterAll(() => Promise.all(folders.map(folder => rm(folder, { recursive: true }))))

  test('is read from their logs, whatever number a node had and wherever a killed one broke off', async () => {
    const folder = await mkdtemp(path.join(tmpdir(), 'drover-told-'))
    folders.push(folder)
    const logs = [
      [
        { time: 1, node: 70, living: [70], msg: 'the living nodes changed' },
        { time: 5, operation: 'b', flow: 'mqtt', msg: 'a request was not sent as far as is known: it is given back' },
        { time: 9, node: 71, living: [71], msg: 'the living nodes changed' },
      ],
      [
        { time: 2, node: 80, living: [70, 80], msg: 'the living nodes changed' },
        { time: 8, operation: 'a', sender: 70, msg: 'the sender of a request is lost: it is given back' },
        { time: 9, operation: 'a', silentMs: 7_000, msg: 'a request was not heard of: it is offered again' },
        { time: 9_000, node: 80, silentMs: 6_000, msg: 'this node was silent for so long that others may have' },
      ],
    ]
    const nodes = await Promise.all(
      logs.map(async (lines, index) => {
        const logFile = path.join(folder, `${index}.log`)
        await writeFile(logFile, `${lines.map(line => JSON.stringify(line)).join('\n')}\n{"msg":"a request was not se`)
        return { logFile }
      }),
    )
    expect(await readTold(nodes)).toEqual({
      givenBack: new Map([
        ['b', [{ cause: 'not sent', at: 5, sender: 0, by: 0 }]],
        [
          'a',
          [
            { cause: 'sender lost', at: 8, sender: 0, by: 1 },
            { cause: 'not heard of', at: 9, sender: 1, by: 1, silentMs: 7_000 },
          ],
        ],
      ]),
      silences: [{ node: 1, fromMs: 3_000, toMs: 9_000 }],
    })
  })
})
