import { expect, test } from 'vitest'
import { createLiveOperations } from '../../src/engine/live-operations.ts'
import type { Database } from '../../src/store/database.ts'
import { silentLog, testDatabase } from '../database.ts'
import { deviceOf } from './scenario.ts'
import { createWorkbench, jobRequest } from './workbench.ts'

const { database } = await testDatabase()
const bench = await createWorkbench(database)

test('a page that cannot be read keeps nothing from those who watch another', async () => {
  await bench.provision(['d'])
  const { job } = await bench.jobs.create(bench.caller, jobRequest({ target: { append: { entities: ['d'] } } }))
  await bench.settle()
  const unreadable = job + 1n
  const refusing = (of: object) => JSON.stringify(of, (_, value) => (typeof value === 'bigint' ? `${value}` : value))
  const broken: Database = {
    ...database,
    query: fragment =>
      refusing(fragment).includes(`${unreadable}`)
        ? Promise.reject(new Error('canceling statement due to statement timeout'))
        : database.query(fragment),
    run: (statement, params) =>
      refusing(params).includes(`${unreadable}`)
        ? Promise.reject(new Error('canceling statement due to statement timeout'))
        : database.run(statement, params),
  }
  const live = createLiveOperations({ database: broken, clock: bench.clock, log: silentLog })
  const told = Promise.withResolvers<bigint>()
  live.watchPage({ job: unreadable, start: 1, size: 10 }, () => told.reject(new Error('nothing is there')))
  live.watchPage({ job, start: 1, size: 10 }, operation => told.resolve(operation.entity))
  live.start()
  expect(await told.promise).toBe((await deviceOf(bench, 'd')).entity)
  await live.stop()
})
