/**
 * What others may see in the model test: a stranger, who has devices and tags of the same names in an organization of his own, tries
 * every way to what is not his, and the owner is answered what the rows say. Refuses to change anything.
 */

import { readParameters } from '../../src/contract/device-parameters.ts'
import type { Caller } from '../../src/domain/caller.ts'
import { jobId, type OperationKey, operationId } from '../../src/domain/identity.ts'
import { jobRoutes } from '../../src/north/jobs.ts'
import { operationRoutes } from '../../src/north/operations.ts'
import { searchRoutes } from '../../src/north/search.ts'
import { taskRoutes } from '../../src/north/tasks.ts'
import type { Database } from '../../src/store/database.ts'
import { sql } from '../../src/store/statement.ts'
import { type Answer, type Door, openDoor } from '../north/door.ts'
import { livingDevices } from './model-ground.ts'
import type { ModelJobs } from './model-jobs.ts'
import type { ModelProcesses } from './model-processes.ts'
import { type ModelTasks, tasksOf } from './model-tasks.ts'
import type { Workbench } from './workbench.ts'

const rules = {
  entitiesMax: 100,
  minOperationTimeoutMs: 40_000,
  readParameters,
  callbacks: { allowHttps: false, allowLoopback: false, allowLinkLocal: false },
}
const SEARCHES = [
  '/search/jobs',
  '/search/tasks',
  '/search/entities/devices/operations',
  '/search/entities/operations/history',
]

export interface ModelStrangersParts {
  readonly database: Database
  readonly owner: Caller
  readonly stranger: Caller
  /** the one job that is the stranger's */
  readonly theirs: bigint
  readonly bench: Workbench
  readonly jobs: ModelJobs
  readonly tasks: ModelTasks
  readonly command: ModelProcesses['command']
  readonly breach: (what: string) => void
}

export function createModelStrangers(parts: ModelStrangersParts) {
  const { database, owner, stranger, theirs, bench, jobs, tasks, command, breach } = parts
  const doors = new Map<Caller, Door>()

  /** The service's own routes for a caller; they read. */
  function ask(caller: Caller, method: 'GET' | 'POST', url: string, body?: unknown): Promise<Answer> {
    const door =
      doors.get(caller) ??
      openDoor(caller, app => {
        jobRoutes(app, { database, jobs: bench.jobs, rules })
        operationRoutes(app, { database })
        taskRoutes(app, { database, tasks: tasksOf(bench), rules, now: () => bench.clock.now() })
        searchRoutes(app, { database })
      })
    doors.set(caller, door)
    return door.ask(method, url, body)
  }

  /** Commands that only the owner may give, of which none must be obeyed. */
  async function tryCommands(job: bigint, task: string | undefined): Promise<void> {
    const attempts: Readonly<Record<string, (by: Workbench) => Promise<unknown>>> = {
      'DELETE of a job': by => by.jobs.cancel(stranger, job),
      'PUT of a job': by => by.jobs.change(stranger, job, { active: false }),
      'DELETE of a task': by => tasksOf(by).cancel(stranger, task ?? ''),
      'PUT of a task': by => tasksOf(by).change(stranger, task ?? '', { active: false }),
    }
    for (const [what, attempt] of Object.entries(attempts)) {
      const outcome = await command(attempt)
      if (outcome.kind === 'obeyed') breach(`a ${what} of job ${job}, task ${task} obeyed a stranger`)
      if (outcome.kind === 'refused' && outcome.error.entry.kind !== 'unknown')
        breach(`${what}: ${outcome.error.message}`)
    }
  }

  /** A device of his says a word of an operation that is not his, and asks for what waits for its double. */
  async function tryDevices(job: bigint): Promise<void> {
    const [operation] = await database.query<OperationKey & { identifier: string }>(sql`
      select o.job, o.partition, o.entity, e.identifier from operation o join entity e using (partition, entity)
       where o.job = ${job} order by o.status desc limit 1`)
    const device = operation && (await livingDevices(database, stranger.organization)).get(operation.identifier)
    if (!device) return
    const { identifier: deviceId, partition, entity } = device
    const sender = { organization: stranger.organization, deviceId, partition, entity }
    const said = await command(by =>
      by.engine.answers.submit({ ...sender, operationId: operationId(operation), resultCode: 'SUCCESSFUL', steps: [] }),
    )
    if (said.kind === 'obeyed' && said.answer !== 'unknown') breach(`job ${job} took the word of a stranger's device`)
    const asked = await command(by => by.engine.pending.take({ partition, entity }, 0, new AbortController().signal))
    if (asked.kind === 'obeyed' && asked.answer) breach(`a stranger's device was given ${asked.answer.id}`)
  }

  /** What he reads: nothing of what is not his. */
  async function tryReading(job: bigint, task: string | undefined): Promise<void> {
    const paths = [`/operation/jobs/${jobId(job)}`, `/operation/jobs/${jobId(job)}/operations`]
    for (const path of [...paths, ...(task === undefined ? [] : [`/operation/tasks/${task}`])]) {
      const { status } = await ask(stranger, 'GET', encodeURI(path))
      if (status !== 404) breach(`a stranger was answered ${status} at ${path}`)
    }
    for (const path of SEARCHES) {
      const { status, text } = await ask(stranger, 'POST', path, { limit: { start: 1, size: 1_000 } })
      const found = [...text.matchAll(/"(?:id|jobId)":"([0-9a-f]{16})"/g)].map(([, id]) => id)
      if (status !== 200 && status !== 204) breach(`a stranger was answered ${status} at ${path}`)
      if (found.some(id => id !== jobId(theirs)) || text.includes('"task '))
        breach(`a stranger found ${text} at ${path}`)
    }
  }

  return {
    /** A stranger tries what only the owner may. */
    async trespass(index: number): Promise<void> {
      const job = jobs.at(index)
      if (job === undefined) return
      const task = tasks.idAt(index)
      await tryCommands(job, task)
      await tryDevices(job)
      await tryReading(job, task)
    },
    /** The owner reads a job and its operations, one by one and by searching: all that he is answered is what the rows say. */
    async read(index: number): Promise<void> {
      const job = jobs.at(index)
      if (job === undefined) return
      const [row] = await database.query<{
        status: string
        total: number
        open: number
        results: Record<string, string>
      }>(sql`
        select j.status, count(o.id)::int as total, count(o.id) filter (where o.result is null)::int as open,
               coalesce(jsonb_object_agg(o.id, o.status || ' ' || coalesce(o.result::text, 'OPERATION_PENDING'))
                          filter (where o.id is not null), '{}') as results
          from job j
          left join (select job, lpad(to_hex(job), 16, '0') || '-' || lpad(to_hex(partition::int), 2, '0') || '-'
                              || lpad(to_hex(entity), 16, '0') as id, status, null::operation_result as result from operation
                     union all
                     select job, lpad(to_hex(job), 16, '0') || '-' || lpad(to_hex(partition::int), 2, '0') || '-'
                              || lpad(to_hex(entity), 16, '0'), status, result from operation_ended) o using (job)
         where j.job = ${job} group by j.job`)
      const path = `/operation/jobs/${jobId(job)}`
      const { body } = await ask(owner, 'GET', path)
      const { summary } = (body as unknown as JobAnswer).report
      const { total, inProgress } = summary
      const said = { status: summary.status, total, open: inProgress.total }
      const { results, ...owed } = row!
      if (JSON.stringify(said) !== JSON.stringify(owed)) breach(`GET ${path} says ${JSON.stringify(said)}`)
      const listed = await ask(owner, 'GET', `${path}/operations?size=1000`)
      const searched = await Promise.all(
        SEARCHES.slice(2).map(search =>
          ask(owner, 'POST', search, { filter: { eq: { jobId: jobId(job) } }, limit: { start: 1, size: 1_000 } }),
        ),
      )
      for (const answers of [[listed], searched]) {
        const told = answers.flatMap(answer => (answer.body.operations ?? []) as OperationAnswer[])
        const own = Object.fromEntries(told.map(each => [each.operationId, `${each.status} ${each.result}`]))
        if (JSON.stringify(Object.entries(own).sort()) !== JSON.stringify(Object.entries(results).sort())) {
          breach(`job ${job} lists ${JSON.stringify(own)}, and has ${JSON.stringify(results)}`)
        }
      }
    },
  }
}

interface JobAnswer {
  readonly report: {
    readonly summary: {
      readonly status: string
      readonly total: number
      readonly inProgress: { readonly total: number }
    }
  }
}

interface OperationAnswer {
  readonly operationId: string
  readonly status: string
  readonly result: string
}
