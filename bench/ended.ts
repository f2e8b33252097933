/**
 * Five million operations that ended over five months, made by SQL as they would lie there: a partition for each month, rows in the order
 * in which they ended, which is not that of their keys. Each month but the present has ten jobs, the present has one over every entity.
 */
import type pg from 'pg'
import { firstNumberAt, partitionOf } from '../src/domain/identity.ts'
import { type Month, monthOf } from '../src/domain/months.ts'

/** Months that have ended operations, the present one included. */
export const MONTHS = 5
const JOBS_OF_A_MONTH = 10

/** A job that was made: its number, and how many operations it has. */
export interface EndedJob {
  readonly job: bigint
  readonly name: string
  readonly operations: number
}

/** One operation in so many failed: it timed out, without steps. */
const FAILED_ONE_IN = 100

/** Makes the entities, the jobs with their counters and the operations; answers the jobs, the newest and largest last. */
export async function makeEnded(database: pg.Client, entities: number): Promise<EndedJob[]> {
  const now = new Date()
  await makeEntities(database, entities)
  const made: EndedJob[] = []
  for (let away = 1 - MONTHS; away <= 0; away += 1) made.push(...(await makeMonth(database, now, away, entities)))
  await database.query('vacuum analyze')
  return made
}

/** The identifier of an entity of the bench. */
export const identifierOf = (entity: number): string => `ended-${entity}`

const CHUNK = 50_000

/** Entities in the partitions in which the service looks for them. */
async function makeEntities(database: pg.Client, entities: number): Promise<void> {
  const { rows } = await database.query<{ organization: number }>('select organization from organization')
  const { organization } = rows[0]!
  for (let first = 1; first <= entities; first += CHUNK) {
    const numbers = Array.from({ length: Math.min(CHUNK, entities - first + 1) }, (_, i) => first + i)
    await database.query(
      `insert into entity (partition, entity, organization, identifier, resource_type, document, tags, flow, created_at, updated_at)
       select partition, entity, $4::int, identifier, 'entity.device', '{}', '{ended}', 'pull', now(), now()
         from unnest($1::smallint[], $2::bigint[], $3::text[]) as made(partition, entity, identifier)`,
      [
        numbers.map(number => partitionOf(organization, identifierOf(number))),
        numbers,
        numbers.map(identifierOf),
        organization,
      ],
    )
  }
  await database.query('analyze entity')
}

async function makeMonth(database: pg.Client, now: Date, away: number, entities: number): Promise<EndedJob[]> {
  const month = monthOf(now, away)
  const jobs = away === 0 ? 1 : JOBS_OF_A_MONTH
  const spanMs = (away === 0 ? now : monthOf(now, away + 1).startsAt).getTime() - month.startsAt.getTime()
  const table = `operation_ended_${month.name}`
  // The service has made the present month; those before it are filled before their indexes are built.
  if (away < 0) await database.query(`create table ${table} (like operation_ended including defaults)`)
  const made: EndedJob[] = []
  for (let i = 0; i < jobs; i += 1) {
    const startsAt = new Date(month.startsAt.getTime() + (i / jobs) * spanMs)
    const job = firstNumberAt(startsAt.getTime())
    const name = i % 5 === 4 ? 'FACTORY_RESET' : 'REBOOT_EQUIPMENT'
    made.push({ job, name, operations: entities / jobs })
    await database.query(JOB, [job, name, startsAt, entities / jobs])
    await database.query(COUNTER, [job, entities / jobs, FAILED_ONE_IN])
    await database.query(operationsInto(table), [
      job,
      jobs,
      i,
      entities / jobs,
      startsAt,
      spanMs / jobs / (entities / jobs),
    ])
  }
  if (away < 0) await attach(database, table, month)
  return made
}

const attach = (database: pg.Client, table: string, { from, to }: Month) =>
  database.query(`alter table operation_ended attach partition ${table} for values from (${from}) to (${to})`)

const JOB = `
  insert into job (job, organization, name, user_email, request, status, created_at, activated_at, started_at, finished_at, start_at,
                   timeout_ms, places, launch_at)
  select $1::bigint, o.organization, $2::text, 'bench@localhost',
         '{"name":"REBOOT_EQUIPMENT","parameters":{},"active":true,"schedule":{},"notify":false,"callback":"","operationParameters":{"ackTimeout":0,"timeout":60000,"retries":0,"retriesDelay":0,"retryResultList":[]},"target":{"append":{"tags":["ended"]}}}',
         'FINISHED_WITH_ERRORS', $3::timestamptz, $3, $3, $3::timestamptz + interval '1 hour', $3, 60000, $4::int, $3
    from organization o`

const COUNTER = `
  insert into job_counter (job, successful, error) values ($1::bigint, $2::int - $2::int / $3::int, $2::int / $3::int)`

/** The operations of one job, whose entities are every `$2`th from `$3`, ended at equal distances in a scattered order. */
const operationsInto = (table: string) => `
  insert into ${table} (job, partition, entity, organization, status, result, counter, attempt, flow, started_at, ended_at)
  select $1::bigint, e.partition, e.entity, e.organization, 'FINISHED',
         case when failed then 'ERROR_TIMEOUT'::operation_result else 'SUCCESSFUL' end,
         case when failed then 'error'::operation_counter else 'successful' end, 1, 'pull',
         ended_at - interval '4 s', ended_at
    from (select 1 + $3::int + $2::int * ((place * 611953::bigint) % $4::int) as number, place % ${FAILED_ONE_IN} = 0 as failed,
                 $5::timestamptz + place * $6::float8 * interval '1 ms' as ended_at, place
            from generate_series(0, $4::int - 1) place) placed
    join entity e on e.entity = placed.number
   order by place`
