import { expect, test } from 'vitest'
import { createNodeKeeping } from '../../src/engine/node-keeper.ts'
import { testDatabase } from '../database.ts'
import { EPOCH } from './workbench.ts'

const { database } = await testDatabase()
const quiet = {
  onOutage: async () => {},
  measureClock: async () => {},
  keepNumbering: async () => {},
  onSilence: () => {},
  onRevival: async () => {},
  onDeath: async () => {},
  onChange: () => {},
}
const at = (seconds: number) => new Date(EPOCH.getTime() + seconds * 1_000)

test('a heartbeat does not wait for what is recorded again after a silence, and what fails is recorded again after the next', async () => {
  const revivals: PromiseWithResolvers<void>[] = []
  const silences: number[] = []
  const keeping = createNodeKeeping({
    database,
    self: { node: 7, name: 'node-7', roles: ['south'] },
    onOutage: async () => {},
    measureClock: async () => {},
    keepNumbering: async () => {},
    onSilence: silentMs => void silences.push(silentMs),
    onRevival() {
      const revival = Promise.withResolvers<void>()
      revivals.push(revival)
      return revival.promise
    },
    onDeath: async () => {},
    onChange: () => {},
  })
  await keeping.turn(at(0))
  await keeping.turn(at(1))
  expect(revivals).toHaveLength(0)
  await keeping.turn(at(7))
  expect(revivals).toHaveLength(1)
  await keeping.turn(at(8))
  expect(keeping.isLiving(at(8))).toBe(true)
  // Under way it is not begun again, except for another silence, once it is over.
  await keeping.turn(at(14))
  expect(revivals).toHaveLength(1)
  revivals[0]!.resolve()
  await revivals[0]!.promise
  await keeping.turn(at(15))
  expect(revivals).toHaveLength(2)
  revivals[1]!.reject(new Error('the database is gone'))
  await expect(revivals[1]!.promise).rejects.toThrow()
  await keeping.turn(at(16))
  expect(revivals).toHaveLength(3)
  revivals[2]!.resolve()
  await revivals[2]!.promise
  await keeping.turn(at(17))
  expect(revivals).toHaveLength(3)
  // A silence is told once, with its length, however often its revival is tried.
  expect(silences).toEqual([6_000, 6_000])
})

test('nodes that start one after the other after an outage agree since when somebody lives, and so on what was missed', async () => {
  const keeperOf = (node: number) =>
    createNodeKeeping({ ...quiet, database, self: { node, name: `node-${node}`, roles: ['engine'] } })
  const [first, second] = [keeperOf(11), keeperOf(12)]
  await first.turn(at(1_000))
  await second.turn(at(1_001))
  expect([first, second].map(each => each.livedSince(at(1_001)))).toEqual([at(1_000), at(1_000)])

  // Both stand still, as where the database is away; whoever is back first begins to live anew, and the other takes its word.
  await second.turn(at(2_000))
  await first.turn(at(2_001))
  expect([first, second].map(each => each.livedSince(at(2_001)))).toEqual([at(2_000), at(2_000)])

  // While one goes on, another that is silent misses nothing.
  await second.turn(at(2_004))
  await second.turn(at(2_008))
  await first.turn(at(2_009))
  expect(first.livedSince(at(2_009))).toEqual(at(2_000))
})

test('connections of a dead node are forgotten beside the heartbeats, and again after the next one where that fails', async () => {
  const forgettings: { silentSince: Date; outcome: PromiseWithResolvers<void> }[] = []
  const keeping = createNodeKeeping({
    ...quiet,
    database,
    self: { node: 21, name: 'node-21', roles: ['south'] },
    onDeath(silentSince) {
      const outcome = Promise.withResolvers<void>()
      forgettings.push({ silentSince, outcome })
      return outcome.promise
    },
  })
  const since = () => forgettings.map(({ silentSince }) => silentSince)
  const end = async (fault?: Error) => {
    const { outcome } = forgettings.at(-1)!
    if (fault) outcome.reject(fault)
    else outcome.resolve()
    await outcome.promise.catch(() => {})
  }
  await keeping.turn(at(3_000))
  await keeping.turn(at(3_001))
  expect(since()).toEqual([at(2_995)])
  await end(new Error('deadlock detected'))
  await keeping.turn(at(3_002))
  expect(since()).toEqual([at(2_995), at(2_997)])
  await end()
  await keeping.turn(at(3_003))
  expect(since()).toHaveLength(2)
})

test('what keeps the numbers of a node apart from those of others is kept at every heartbeat', async () => {
  let kept = 0
  const keepNumbering = async () => void kept++
  const self = { node: 21, name: 'node-21', roles: ['north'] }
  const keeping = createNodeKeeping({ ...quiet, keepNumbering, database, self })
  await keeping.turn(at(3_000))
  await keeping.turn(at(3_001))
  expect(kept).toBe(2)
})
