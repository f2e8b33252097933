/**
 * A large job is cancelled in chunks, and its service killed between two of them. The chunks that are to come are held up by a lock on the
 * last operations of each half, so that the kill falls between chunks however fast or slow the machine is.
 */
import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { VerifyView } from '../../src/contract/verify.ts'
import { parseJobId, partitionOf } from '../../src/domain/identity.ts'
import { sql } from '../../src/store/statement.ts'
import { createCallbackReceiver } from '../callback-receiver.ts'
import { createTestDatabase } from '../database.ts'
import { type Client, createClient } from './client.ts'
import { countersOf, createJob, jobEnded, readJob, readOperations, recount, updateRequest } from './jobs.ts'
import { dataFolder, launchService, type ServiceProcess } from './service-process.ts'

const DEVICES = 12_000
/** Of each half of the partitions one chunk of 5,000 is done, and the next one waits. */
const DONE_BEFORE_THE_KILL = 10_000
const LONG_MS = 300_000
const apiKey = 'a-key-of-the-cancel-test'
const { database, url, close } = await createTestDatabase({ migrated: false })
afterAll(close)
const folder = await dataFolder()

let service: ServiceProcess
let client: Client

async function startService(): Promise<void> {
  service = launchService(folder, {
    DATABASE_URL: url,
    DROVER_SECRET: 'a-secret-of-the-cancel-test-of-32-bytes',
    DROVER_ADMIN_API_KEY: apiKey,
    DROVER_CALLBACK_ALLOW_LOOPBACK: 'true',
  })
  client = createClient((await service.ready()).url, apiKey)
}

beforeAll(async () => {
  await startService()
  const [own] = await database.query<{ organization: number }>(sql`select organization from organization`)
  const { organization } = own!
  const identifiers = Array.from({ length: DEVICES }, (_, i) => `c-${i}`)
  await database.query(sql`
    insert into entity (partition, entity, organization, identifier, resource_type, document, tags, flow, created_at, updated_at)
    select i.partition, i.entity, ${organization}, i.identifier, 'entity.device', '{}', '{sim}', 'pull', now(), now()
      from unnest(${identifiers.map(id => partitionOf(organization, id))}::smallint[], ${identifiers}::text[]) with ordinality
        as i(partition, identifier, entity)`)
}, LONG_MS)
afterAll(async () => {
  await service?.end('SIGKILL')
})

/** Holds the last operation of each half of a job, so that no chunk which has it is done; answers how to let go. */
async function holdLastOperations(job: string): Promise<() => Promise<void>> {
  const holder = new pg.Client({ connectionString: url })
  await holder.connect()
  await holder.query('begin')
  for (const half of ['partition < 128', 'partition >= 128']) {
    const { rowCount } = await holder.query(
      `select from operation where job = $1 and ${half} order by partition desc, entity desc limit 1 for update`,
      [parseJobId(job)!],
    )
    expect(rowCount).toBe(1)
  }
  return () => holder.end()
}

/** A window that is closed for the next hours: what is in progress launches nothing. */
function closedWindow() {
  const clock = (hour: number) => `${String(hour % 24).padStart(2, '0')}:00:00Z`
  const opens = new Date().getUTCHours() + 6
  return { weekly: [{ daily: { start: clock(opens), stop: clock(opens + 1) } }] }
}

async function startLater(job: string): Promise<void> {
  const answer = await client.call('PUT', `/north/v80/operation/jobs/${job}`, {
    job: { request: { schedule: { start: { delayed: 3_600_000 } }, active: true } },
  })
  expect([answer.status, answer.body]).toMatchObject([200, { report: { summary: { status: 'SCHEDULED' } } }])
}

test.each([
  {
    what: 'a user',
    schedule: {},
    transient: 'CANCELLING_BY_USER',
    final: 'CANCELLED',
    counter: 'byUser',
    told: ['/jobFinished'],
    begin: async (job: string) => {
      await startLater(job)
      const { status } = await client.call('DELETE', `/north/v80/operation/jobs/${job}`)
      expect(status).toBe(200)
    },
  },
  {
    what: 'its stop',
    schedule: { stop: { delayed: 1_000 }, window: closedWindow() },
    transient: 'CANCELLING_BY_ENGINE',
    final: 'TIMEOUT_CANCELLED',
    counter: 'byEngine',
    told: ['/jobStarted', '/jobFinished'],
    begin: async (job: string) => {
      const { status } = await client.call('PUT', `/north/v80/operation/jobs/${job}`, {
        job: { request: { active: true } },
      })
      expect(status).toBe(200)
    },
  },
])(
  'a job of 12,000 operations that $what cancels is $transient, also over a kill -9 between two chunks, until it is $final with exact counters',
  {
    timeout: LONG_MS,
  },
  async ({ schedule, transient, final, counter, told, begin }) => {
    const receiver = await createCallbackReceiver()
    const { id } = await createJob(client, updateRequest('sim', { active: false, schedule, callback: receiver.url }))
    await expect.poll(async () => (await readJob(client, id)).report.summary.total).toBe(DEVICES)
    const letGo = await holdLastOperations(id)
    await begin(id)

    const half = {
      total: DEVICES,
      finished: { total: DONE_BEFORE_THE_KILL, cancelled: { [counter]: DONE_BEFORE_THE_KILL } },
    }
    await expect
      .poll(async () => (await readJob(client, id)).report.summary)
      .toMatchObject({ status: transient, ...half })
    const cancelling = await readJob(client, id)
    expect(cancelling.report.execution.finishedDate).toBe('')
    expect(countersOf(cancelling)).toEqual(recount(await readOperations(client, id)))
    await service.end('SIGKILL')
    await letGo()
    expect(await database.query(sql`select status from job where job = ${parseJobId(id)!}`)).toEqual([
      { status: transient },
    ])

    await startService()
    const job = await jobEnded(client, id)
    const all = { total: DEVICES, finished: { total: DEVICES, cancelled: { total: DEVICES, [counter]: DEVICES } } }
    expect(job.report.summary).toMatchObject({ status: final, ...all })
    expect(countersOf(job)).toEqual(recount(await readOperations(client, id)))
    const { body } = await client.call<VerifyView>('GET', '/north/v80/operation/verify')
    expect(body.differences).toEqual([])
    expect((await receiver.hears(told.length)).map(({ path }) => path)).toEqual(told)
  },
)
