/**
 * The places that the operations of a job must have when it starts, ranked anew by the definition of the scattering: the model test holds
 * what is still to be launched to them. Of the service's own arithmetic it uses the hash alone.
 */
import type { JobRequest, JobStatus } from '../../src/domain/job.ts'
import { scatterHash } from '../../src/domain/scattering-rank.ts'
import type { Queryable } from '../../src/store/database.ts'
import { sql } from '../../src/store/statement.ts'
import { placesDue, type ScheduledJob, spreadOf } from './model-schedule.ts'

/** The scatterings that the model asks for. */
interface Scattering {
  readonly maxSpread?: number
  readonly strategy?: { readonly factor: number; readonly warningMaxRate?: number }
}

interface Ranked {
  readonly entity: bigint
  readonly cell: string | null
}

const byNumber = (a: bigint, b: bigint) => (a < b ? -1 : a > b ? 1 : 0)

/** Entity by entity, its place: k = rank by (100 − factor)·c + factor·s, or by the hash alone. */
function ranked(operations: readonly Ranked[], job: bigint, factor: number | undefined): Map<bigint, number> {
  const hash = (entity: bigint) => scatterHash(job, entity)
  const byHash = (a: Ranked, b: Ranked) => hash(a.entity) - hash(b.entity) || byNumber(a.entity, b.entity)
  const inHash = operations.toSorted(byHash)
  if (factor === undefined) return new Map(inHash.map(({ entity }, k) => [entity, k]))
  const last = '\u{10ffff}'
  const inGroups = operations.toSorted((a, b) => {
    const [one, other] = [a.cell ?? last, b.cell ?? last]
    return one < other ? -1 : one > other ? 1 : byHash(a, b)
  })
  const score = (operation: Ranked) => {
    const group = inGroups.filter(({ cell }) => cell === operation.cell)
    const c = inGroups.indexOf(operation) / operations.length
    const s = (group.indexOf(operation) + 0.5) / group.length
    return (100 - factor) * c + factor * s
  }
  return new Map(inHash.toSorted((a, b) => score(a) - score(b) || byHash(a, b)).map(({ entity }, k) => [entity, k]))
}

export type ModelPlaces = ReturnType<typeof createModelPlaces>

export function createModelPlaces(organization: number) {
  const places = new Map<bigint, ReadonlyMap<bigint, number>>()

  return {
    /** What is wrong with the places of operations that were never launched, and with what was warned of, in words. */
    async judge(db: Queryable, now: number): Promise<string[]> {
      const rows = await db.query<Row>(sql`
        select j.job, j.request, j.status, j.activated_at as "activatedAt", j.started_at as "startedAt", j.places, j.warnings,
               j.start_at as "startAt", j.task is not null as "ofTask",
               j.overdue_at is not null as overdue, o.entity, e.cell_info as cell, o.ended, o.gone, o.launched,
               case when not o.launched and o.attempt = 0 then r.place end as place
          from job j
          join (select job, partition, entity, attempt, false as ended, false as gone, started_at is not null as launched from operation
                union all select job, partition, entity, attempt, true, result = 'CANCELLED_INTERNAL', started_at is not null
                  from operation_ended) o using (job)
          left join entity e on e.partition = o.partition and e.entity = o.entity
          left join operation_ready r on r.job = o.job and r.partition = o.partition and r.entity = o.entity
         where j.organization = ${organization} and j.started_at is not null`)
      return [...Map.groupBy(rows, ({ job }) => job).values()].flatMap(operations => {
        const [job] = operations
        const { strategy } = (job!.request.schedule.scattering ?? {}) as Scattering
        // What was deleted by then had gone before the start.
        const known = places.get(job!.job)
        const mine =
          known ??
          ranked(
            operations.filter(({ gone }) => !gone),
            job!.job,
            strategy?.factor,
          )
        places.set(job!.job, mine)
        return wrongOf(operations, mine, now).map(what => `job ${job!.job} ${what}`)
      })
    },
  }
}

/** A job that has started, with one of its operations. */
interface Row extends ScheduledJob, Ranked {
  readonly job: bigint
  readonly request: JobRequest
  readonly status: JobStatus
  readonly places: number
  readonly warnings: readonly { readonly code: string; readonly rate?: number | null; readonly maximum?: number }[]
  readonly overdue: boolean
  readonly ended: boolean
  /** its entity was deleted */
  readonly gone: boolean
  readonly launched: boolean
  /** where it waits to be launched for the first time */
  readonly place: number | null
}

function wrongOf(operations: readonly Row[], mine: ReadonlyMap<bigint, number>, now: number): string[] {
  const job = operations[0]!
  const wrong: string[] = []
  if (job.places !== mine.size) wrong.push(`has ${job.places} places for ${mine.size} operations`)
  const due = placesDue(job, mine.size, now)
  for (const { entity, place, launched } of operations) {
    const own = mine.get(entity)
    // What stood first and could not be sent goes behind its like.
    if (place !== null && own !== 0 && place !== own) wrong.push(`has ${entity} at ${place}, and not at ${own}`)
    if (launched && own !== undefined && own >= due) wrong.push(`launched ${entity} at ${own}, and ${due} were due`)
  }
  const { strategy } = (job.request.schedule.scattering ?? {}) as Scattering
  const maximum = strategy?.warningMaxRate
  const spreadMs = spreadOf(job)
  const rate = spreadMs > 0 ? (mine.size * 1000) / spreadMs : null
  const owed = maximum !== undefined && mine.size > 0 && (rate === null || rate > maximum)
  const told = job.warnings.find(({ code }) => code === 'rate-above-maximum')
  if (owed !== (told !== undefined)) wrong.push(`${told ? 'warns' : 'does not warn'} of ${rate} above ${maximum}`)
  if (told && (told.rate !== rate || told.maximum !== maximum)) wrong.push(`warns of ${told.rate}, and not of ${rate}`)
  return wrong
}
