/**
 * What a service costs that has nothing to do: a million operations wait for their devices, and a thousand tasks for their day. And
 * whether what comes due in all that leaves in time.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type pg from 'pg'
import { pendingPath } from '../src/contract/device-addresses.ts'
import { partitionOf } from '../src/domain/identity.ts'
import { type Figures, type Measurement, quantile } from './figures.ts'
import { type HttpDevice, httpDevice } from './http-device.ts'
import { createJob, letAllWait, onDatabaseOf, provisionMany, summaryOf } from './million-entities.ts'
import { type BenchService, databaseSeconds, processorSeconds, startService } from './processes.ts'
import { settle } from './settling.ts'

const ASLEEP_MS = 60_000
const TASKS = 1_000
const TASKS_AT_ONCE = 8
const DUE = 2
/** Enough for many runs. */
const RETURNING = Array.from({ length: 100 }, (_, i) => `million-${i + 1}`)
const WITHIN_MS = 300_000
/** After the look at the cost, time enough for what is due to be still ahead. */
const AHEAD_MS = 3_000
const TASK = 'a due task leaves late by, ms at most'
const JOB = 'a due job leaves late by, ms at most'
const RETURN = 'a device that returns has its operation after, ms at most'

export function asleep(entities = 1_000_000): Measurement {
  return {
    name: 'asleep',
    about: `${entities.toLocaleString('en')} operations waiting for a connection (put there by SQL) and ${TASKS.toLocaleString('en')} scheduled tasks, looked at for ${ASLEEP_MS / 1000} s in each run, once autovacuum has settled (until then it looks around every second instead of every minute); in each run ${DUE} of the tasks come due after that, then ${DUE} jobs with a start date, and ${DUE} devices whose operations wait ask for them`,
    targets: {
      'service and database, % of a core': { most: 3 },
      [TASK]: { most: 1_000 },
      [JOB]: { most: 1_000 },
      [RETURN]: { most: 1_000 },
    },
    async open() {
      const service = await startService()
      const device = await httpDevice(service, 'the-one')
      const close = async () => {
        await device.stop()
        await service.stop()
      }
      try {
        await fallAsleep(service, entities)
        const returning = RETURNING.values()
        return { run: () => measure(service, device, returning), close }
      } catch (error) {
        await close()
        throw error
      }
    },
  }
}

async function fallAsleep(service: BenchService, entities: number): Promise<void> {
  await onDatabaseOf(service, async database => {
    await provisionMany(database, entities)
    await letBeFound(database)
    const job = await createJob(service, { tags: ['million'] }, { start: { delayed: 3_600_000 } })
    const giveUpAt = performance.now() + WITHIN_MS
    while ((await summaryOf(service, job)).total < entities) {
      if (performance.now() > giveUpAt) throw new Error('the job is not planned in time')
      await sleep(200)
    }
    await letAllWait(database)
  })
  const later = Date.now() + 30 * 86_400_000
  await createTasks(service, 'later', Array<number>(TASKS).fill(later))
  await settle(service)
}

/** Puts those that will return where the service looks for a device that calls. */
async function letBeFound(database: pg.Client): Promise<void> {
  const { rows } = await database.query<{ organization: number }>('select organization from organization')
  await database.query(
    `update entity e set partition = i.partition from unnest($1::text[], $2::int[]) as i(identifier, partition)
      where e.identifier = i.identifier`,
    [RETURNING, RETURNING.map(id => partitionOf(rows[0]!.organization, id))],
  )
}

async function measure(service: BenchService, device: HttpDevice, returning: ArrayIterator<string>): Promise<Figures> {
  run += 1
  const dates = Array.from({ length: DUE }, (_, i) => Date.now() + ASLEEP_MS + (i + 1) * AHEAD_MS)
  await createTasks(service, `due-${run}`, dates)
  const cost = await costOf(service)
  const tasks: number[] = []
  for (const date of dates) tasks.push(await lateness(date, device.next()))
  const jobs: number[] = []
  while (jobs.length < DUE) {
    const date = Date.now() + AHEAD_MS
    const job = await createJob(service, { entities: [device.id] }, { start: { date: new Date(date).toISOString() } })
    jobs.push(await lateness(date, device.requested(job)))
  }
  const returned: number[] = []
  while (returned.length < DUE) returned.push(await comeBack(service, returning.next().value!))
  return {
    'service, % of a core': cost.service,
    'database, % of a core': cost.database,
    'service and database, % of a core': cost.service + cost.database,
    [TASK]: quantile(tasks, 1),
    [JOB]: quantile(jobs, 1),
    [RETURN]: quantile(returned, 1),
  }
}

let run = 0

/** How long after its date a request reaches its device, in ms. */
async function lateness(date: number, coming: Promise<number>): Promise<number> {
  const dueAt = performance.now() + (date - Date.now())
  return (await coming) - dueAt
}

/** How long a device waits for its operation that asks for it, in ms. */
async function comeBack({ client, apiKey }: BenchService, id: string): Promise<number> {
  const askedAt = performance.now()
  const response = await fetch(new URL(pendingPath(id, 10), client.url), { headers: { 'x-apikey': apiKey } })
  await response.arrayBuffer()
  if (response.status !== 200) throw new Error(`${id} is answered ${response.status}`)
  return performance.now() - askedAt
}

/** A task for each date, on the one device, repeated each day. */
async function createTasks({ client }: BenchService, prefix: string, dates: readonly number[]): Promise<void> {
  const entries = dates.entries()
  const createInTurn = async () => {
    for (const [number, date] of entries) {
      const start = { date: new Date(date).toISOString() }
      await client.call('POST /operation/tasks', {
        body: {
          task: {
            name: `${prefix}-${number}`,
            active: true,
            schedule: { start, repeating: { period: { each: 1, unit: 'DAYS' } } },
            job: {
              request: {
                name: 'REBOOT_EQUIPMENT',
                parameters: {},
                active: true,
                operationParameters: { timeout: 60_000 },
                schedule: { stop: { delayed: 3_600_000 } },
                target: { append: { entities: ['the-one'] } },
              },
            },
          },
        },
      })
    }
  }
  await Promise.all(Array.from({ length: TASKS_AT_ONCE }, createInTurn))
}

async function costOf({ child, postgres }: BenchService): Promise<{ service: number; database: number }> {
  const spent = () => [processorSeconds(child.process.pid!), databaseSeconds(postgres.pid)] as const
  const before = spent()
  const startedAt = performance.now()
  await sleep(ASLEEP_MS)
  const after = spent()
  const percent = (i: 0 | 1) => ((after[i] - before[i]) * 100_000) / (performance.now() - startedAt)
  return { service: percent(0), database: percent(1) }
}
