/** Nodes that claim by partition: each its own share, and the share of one that is lost goes to the others. */
import { expect, test } from 'vitest'
import { partitionsOf } from '../../src/domain/partition-shares.ts'
import { createTestDatabase } from '../database.ts'
import { ids, obedient, SECOND, sentTo, summaryOfJob } from './scenario.ts'
import { createWorkbench, jobRequest, type Workbench } from './workbench.ts'

const NODES = [1, 2, 3]

async function stand() {
  const { database, close } = await createTestDatabase()
  const first = await createWorkbench(database, { node: 1, claimsByPartition: true })
  const [, ...others] = NODES
  const benches = [first]
  for (const node of others) {
    benches.push(await createWorkbench(database, { node, clock: first.clock, claimsByPartition: true }))
  }
  for (const bench of benches) {
    bench.device = obedient()
    await bench.engine.loops.get('node-keeper')!.runOnce(bench.clock.now())
  }
  await first.provision(ids('d', 300))
  const create = async () =>
    (await first.jobs.create(first.caller, jobRequest({ target: { append: { entities: ids('d', 300) } } }))).job
  const dispatch = (bench: Workbench) => bench.engine.loops.get('operation-dispatcher')!.runOnce(bench.clock.now())
  return { benches, create, dispatch, [Symbol.asyncDispose]: close }
}

test('each node sends what lies in its share, and together they send everything', async () => {
  await using at = await stand()
  const job = await at.create()
  for (const bench of at.benches) await at.dispatch(bench)
  at.benches.forEach((bench, i) => {
    const share = new Set(partitionsOf(NODES[i]!, NODES))
    expect(bench.sent.filter(({ key }) => !share.has(key.partition))).toEqual([])
    expect(bench.sent.length).toBeGreaterThan(50)
  })
  expect(at.benches.flatMap(sentTo).sort()).toEqual(ids('d', 300).sort())
  for (const bench of at.benches) await bench.settle()
  expect(await summaryOfJob(at.benches[0]!, job)).toMatchObject({ status: 'FINISHED', finished: { successful: 300 } })
})

test('no more is claimed than can be sent, and the rest in the turns that follow', async () => {
  await using at = await stand()
  await at.create()
  const [bench] = at.benches
  bench!.capacity = 7
  for (let turn = 1; turn <= 3; turn += 1) {
    await at.dispatch(bench!)
    expect(bench!.sent.length).toBe(7 * turn)
  }
})

test('the share of a node that is lost is sent by the others within ten seconds', async () => {
  await using at = await stand()
  const [one, two, lost] = at.benches as [Workbench, Workbench, Workbench]
  await lost.abandon()
  const job = await at.create()
  for (let second = 0; second < 10; second += 1) {
    for (const bench of [one, two]) await bench.settle()
    await one.clock.advanceBy(SECOND)
  }
  expect([...sentTo(one), ...sentTo(two)].sort()).toEqual(ids('d', 300).sort())
  expect(await summaryOfJob(one, job)).toMatchObject({ status: 'FINISHED' })
})
