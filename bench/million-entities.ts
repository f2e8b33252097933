/** Many entities that ask for their operations themselves and never do, made by SQL, and jobs over all of them. */
import pg from 'pg'
import type { BenchService } from './processes.ts'

/** A connection of the bench's own to the database of a service. */
export async function onDatabaseOf<T>(service: BenchService, work: (database: pg.Client) => Promise<T>): Promise<T> {
  const database = new pg.Client(service.postgres.url)
  await database.connect()
  try {
    return await work(database)
  } finally {
    await database.end()
  }
}

/** Entities with the tag `million` in the organization of the service. */
export async function provisionMany(database: pg.Client, entities: number): Promise<void> {
  await database.query(
    `insert into entity (partition, entity, organization, identifier, resource_type, document, tags, flow, created_at, updated_at)
     select i % 256, i, o.organization, 'million-' || i, 'entity.device', '{}', '{million}', 'pull', now(), now()
       from organization o, generate_series(1, $1::int) i`,
    [entities],
  )
}

/** Has every operation of the last job launched and away, as if each device had been found absent. */
export async function letAllWait(database: pg.Client): Promise<void> {
  const { rows } = await database.query<{ job: string }>(
    `select max(job)::text as job from job where status = 'SCHEDULED'`,
  )
  const job = rows[0]!.job
  for (const text of [
    `update operation set status = 'WAITING_FOR_CONNECTION', attempt = 1, started_at = now(), launched_at = now(), flow = 'pull' where job = ${job}`,
    `insert into operation_live (partition, entity, name, job) select partition, entity, 'REBOOT_EQUIPMENT', job from operation where job = ${job}`,
    `insert into job_counter_delta (job, scheduled, waiting_for_connection) select job, -count(*), count(*) from operation where job = ${job} group by job`,
    `update job set status = 'IN_PROGRESS', started_at = now(), launch_at = now(), start_at = now() where job = ${job}`,
  ])
    await database.query(text)
}

/** Creates a job over a target; answers its id. */
export async function createJob(
  { client }: BenchService,
  append: JobTarget,
  schedule: Readonly<Record<string, unknown>> = {},
): Promise<string> {
  const { id } = await client.call('POST /operation/jobs', {
    body: {
      job: {
        request: {
          name: 'REBOOT_EQUIPMENT',
          parameters: {},
          active: true,
          schedule,
          operationParameters: { timeout: 3_600_000 },
          target: { append: { ...append } },
        },
      },
    },
  })
  return id
}

type JobTarget = { readonly tags: string[] } | { readonly entities: string[] }

/** What the interface says of a job. */
export type Summary = Awaited<ReturnType<typeof summaryOf>>

/** The summary of a job. */
export async function summaryOf({ client }: BenchService, job: string) {
  return (await client.call('GET /operation/jobs/{jobId}', { path: { jobId: job } })).report.summary
}
