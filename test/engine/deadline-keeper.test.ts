import { expect, test } from 'vitest'
import { sql } from '../../src/store/statement.ts'
import { testDatabase } from '../database.ts'
import { deviceOf, ids, MINUTE, operationOf, SECOND, silent, summaryOfJob } from './scenario.ts'
import { createWorkbench, jobRequest } from './workbench.ts'

const { database } = await testDatabase()
const bench = await createWorkbench(database)
const statuses = (job: bigint, devices: readonly string[]) =>
  Promise.all(devices.map(async id => (await operationOf(bench, job, id)).status))

test('an operation that cannot be written holds up no other whose time is over, and ends once it can be', async () => {
  bench.device = silent
  const devices = ids('d', 21)
  await bench.provision(devices)
  const { job } = await bench.jobs.create(bench.caller, jobRequest({ target: { append: { entities: devices } } }))
  await bench.settle()
  const { entity } = await deviceOf(bench, 'd-7')
  await database.executeSql(`
    create table unwritable as select ${entity}::bigint as entity;
    create sequence tried;
    create function refuse() returns trigger language plpgsql as $$ begin
      if exists (select from unwritable u where u.entity = new.entity) then
        perform nextval('tried');
        raise exception 'no such text' using errcode = '22021';
      end if;
      return new;
    end $$;
    create trigger refuse before insert on operation_ended for each row execute function refuse()`)

  await bench.advance(20 * SECOND)
  expect(await statuses(job, devices)).toEqual(
    devices.map(id => (id === 'd-7' ? 'WAITING_FOR_ACK' : 'TIMEOUT_CANCELLED')),
  )
  // The batch is halved until it stands alone; then it is left in peace for a minute.
  const [tries] = await database.query<{ tried: bigint }>(sql`select last_value as tried from tried`)
  expect(tries!.tried).toBeLessThan(12n)

  await database.query(sql`delete from unwritable`)
  await bench.advance(MINUTE)
  expect(await operationOf(bench, job, 'd-7')).toMatchObject({ status: 'TIMEOUT_CANCELLED' })
  expect(await summaryOfJob(bench, job)).toMatchObject({ status: 'FINISHED_WITH_ERRORS', total: 21 })
})
