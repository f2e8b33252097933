/**
 * What a service costs that has nothing to do: a million operations wait for their devices, and a thousand tasks for their day. And
 * whether what comes due in all that leaves in time.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { type Figures, type Measurement, quantile } from './figures.ts'
import { type HttpDevice, httpDevice } from './http-device.ts'
import { createJob, letAllWait, onDatabaseOf, provisionMany, summaryOf } from './million-entities.ts'
import { type BenchService, databaseSeconds, processorSeconds, startService } from './processes.ts'

const ASLEEP_MS = 60_000
const SETTLED_MS = 10_000
const TASKS = 1_000
const TASKS_AT_ONCE = 8
const DUE = 2
const WITHIN_MS = 300_000

export function asleep(entities = 1_000_000): Measurement {
  return {
    name: 'asleep',
    about: `${entities.toLocaleString('en')} operations waiting for a connection (put there by SQL) and ${TASKS.toLocaleString('en')} scheduled tasks, looked at for ${ASLEEP_MS / 1000} s in each run after a vacuum; then ${DUE} jobs with a start date`,
    targets: {
      'service and database, % of a core': { most: 3 },
      'a due one leaves late by, ms at most': { most: 1_000 },
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
        return { run: () => measure(service, device), close }
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
    const job = await createJob(service, { tags: ['million'] }, { start: { delayed: 3_600_000 } })
    const giveUpAt = performance.now() + WITHIN_MS
    while ((await summaryOf(service, job)).total < entities) {
      if (performance.now() > giveUpAt) throw new Error('the job is not planned in time')
      await sleep(200)
    }
    await letAllWait(database)
  })
  await createTasks(service)
  // What autovacuum would do in its own time.
  await onDatabaseOf(service, database => database.query('vacuum analyze'))
  await sleep(SETTLED_MS)
}

async function measure(service: BenchService, device: HttpDevice): Promise<Figures> {
  const cost = await costOf(service)
  const late: number[] = []
  while (late.length < DUE) late.push(await lateness(service, device))
  return {
    'service, % of a core': cost.service,
    'database, % of a core': cost.database,
    'service and database, % of a core': cost.service + cost.database,
    'a due one leaves late by, ms at most': quantile(late, 1),
  }
}

async function createTasks({ client }: BenchService): Promise<void> {
  const start = { date: new Date(Date.now() + 30 * 86_400_000).toISOString() }
  const numbers = Array.from({ length: TASKS }, (_, i) => i).values()
  const createInTurn = async () => {
    for (const number of numbers) {
      await client.call('POST /operation/tasks', {
        body: {
          task: {
            name: `asleep-${number}`,
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

/** How long after its start date the request of a job reaches its device, in ms. */
async function lateness(service: BenchService, device: HttpDevice): Promise<number> {
  const due = Date.now() + 2_500
  const dueAt = performance.now() + (due - Date.now())
  const start = { date: new Date(due).toISOString() }
  const job = await createJob(service, { entities: [device.id] }, { start })
  return (await device.requested(job)) - dueAt
}
