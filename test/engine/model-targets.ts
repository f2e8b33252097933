/**
 * Which entities a job of the model test must have operations for: kept from what was asked and from the devices that were there when
 * it was judged, by this file's own reading of tags and filters. Refuses to use the service's.
 */
import type { FilterExpression, JobChange, JobTarget, TargetSelection } from '../../src/domain/job.ts'
import type { Queryable } from '../../src/store/database.ts'
import { sql } from '../../src/store/statement.ts'
import type { LivingDevice } from './model-ground.ts'

export type Living = ReadonlyMap<string, LivingDevice>

type Leaf = Readonly<Record<string, unknown>>
const FIELD = 'provision.device.identifier'

/** Whether a filter, of the forms that the model asks for, matches a device. */
function matches(filter: FilterExpression, device: LivingDevice): boolean {
  const [[operator, operand] = []] = Object.entries(filter)
  if (operator === undefined) return true
  if (operator === 'and') return (operand as FilterExpression[]).every(part => matches(part, device))
  if (operator === 'or') return (operand as FilterExpression[]).some(part => matches(part, device))
  if (operator === 'not') return !matches(operand as FilterExpression, device)
  const value = (operand as Leaf)[FIELD]
  if (operator === 'eq') return device.identifier === value
  if (operator === 'in') return (value as string[]).includes(device.identifier)
  if (operator === 'like') return new RegExp(value as string).test(device.identifier)
  throw new Error(`the model does not ask for ${operator}`)
}

/** What a selection takes of the devices that are there. */
function select({ entities = [], tags = [], filter }: TargetSelection, living: Living): LivingDevice[] {
  return [...living.values()].filter(
    device =>
      entities.includes(device.identifier) ||
      tags.some(tag => device.tags.includes(tag)) ||
      (filter !== undefined && matches(filter, device)),
  )
}

const selectionOf = ({ append, filter }: JobTarget): TargetSelection => ({ ...(filter && { filter }), ...append })

/** Ids that a job says it refused. */
interface Refused {
  notProvisioned: string[]
  duplicated: string[]
}

interface Book {
  readonly expected: Set<bigint>
  readonly refused: Refused
  /** tags that were added and are to be resolved */
  tags: string[]
}

export type ModelTargets = ReturnType<typeof createModelTargets>

export function createModelTargets(organization: number) {
  const books = new Map<bigint, Book>()

  /** What is taken out or listed anew by its name is no longer told of as refused before. */
  function withdraw({ refused }: Book, entities: readonly string[]): void {
    for (const kind of ['notProvisioned', 'duplicated'] as const) {
      refused[kind] = refused[kind].filter(id => !entities.includes(id))
    }
  }

  /** What is refused of listed entities, and what is taken. */
  function addListed(book: Book, entities: readonly string[], living: Living): void {
    withdraw(book, entities)
    for (const id of entities) {
      const device = living.get(id)
      if (device === undefined) book.refused.notProvisioned.push(id)
      else if (book.expected.has(device.entity)) book.refused.duplicated.push(id)
      else book.expected.add(device.entity)
    }
  }

  function openBook(target: JobTarget, living: Living): Book {
    const book: Book = { expected: new Set(), refused: { notProvisioned: [], duplicated: [] }, tags: [] }
    const { entities = [], ...rest } = selectionOf(target)
    addListed(book, entities, living)
    for (const { entity } of select(rest, living)) book.expected.add(entity)
    return book
  }

  return {
    /** Whether a target lists nothing but what is not there. */
    isHopeless(target: JobTarget, living: Living): boolean {
      const { entities = [] } = selectionOf(target)
      return entities.length > 0 && entities.every(id => !living.has(id))
    },
    /** What a job would have to launch once a change were applied: entities, and whether more is to be resolved. */
    after(job: bigint, target: JobChange['target'], living: Living): { open: number; resolves: boolean } {
      const book = books.get(job)
      const gone = new Set(select(target?.remove ?? {}, living).map(({ entity }) => entity))
      const added = select({ entities: target?.append?.entities ?? [] }, living).map(({ entity }) => entity)
      const kept = [...(book?.expected ?? [])].filter(entity => !gone.has(entity))
      const there = new Set([...living.values()].map(({ entity }) => entity))
      const resolves = (target?.append?.tags?.length ?? 0) > 0
      return { open: [...kept, ...added].filter(entity => there.has(entity)).length, resolves }
    },
    /** Notes that a change was carried out. */
    change(job: bigint, { remove, append }: NonNullable<JobChange['target']>, living: Living): void {
      const book = books.get(job)!
      for (const { entity } of select(remove ?? {}, living)) book.expected.delete(entity)
      withdraw(book, remove?.entities ?? [])
      addListed(book, append?.entities ?? [], living)
      book.tags.push(...(append?.tags ?? []))
    },
    /** What is wrong with the operations of jobs, in words; every target that is due has been resolved by now. */
    async judge(db: Queryable, living: Living): Promise<string[]> {
      const jobs = await db.query<Standing>(sql`
        select j.job, j.request -> 'target' as target, j.refused, j.task is not null as "ofTask", j.started_at is not null as started,
               j.unresolved = '[]' as resolved, j.status in ('CANCELLED', 'CANCELLING_BY_USER') as cancelled,
               array(select entity from operation where job = j.job union all
                     select entity from operation_ended where job = j.job order by 1) as entities
          from job j where j.organization = ${organization}`)
      const wrong: string[] = []
      for (const { job, target, refused, ofTask, started, resolved, cancelled, entities } of jobs) {
        if (!resolved) {
          if (!ofTask || started) wrong.push(`job ${job} was not resolved`)
          continue
        }
        const known = books.get(job)
        // One that was cancelled before its target was resolved has nothing.
        if (known === undefined && cancelled && entities.length === 0) continue
        const book = known ?? openBook(target, living)
        books.set(job, book)
        for (const { entity } of select({ tags: book.tags }, living)) book.expected.add(entity)
        book.tags = []
        const expected = [...book.expected].sort((a, b) => (a < b ? -1 : 1))
        if (expected.join() !== entities.join()) wrong.push(`job ${job} has ${entities}, and not ${expected}`)
        const told = Object.fromEntries(Object.entries(book.refused).filter(([, ids]) => ids.length > 0))
        if (JSON.stringify(sorted(refused)) !== JSON.stringify(sorted(told))) {
          wrong.push(`job ${job} says ${JSON.stringify(refused)} is refused, and not ${JSON.stringify(told)}`)
        }
      }
      return wrong
    },
  }
}

/** A job as far as its target goes. */
interface Standing {
  readonly job: bigint
  readonly target: JobTarget
  readonly refused: Partial<Refused>
  readonly ofTask: boolean
  readonly started: boolean
  readonly resolved: boolean
  readonly cancelled: boolean
  readonly entities: readonly bigint[]
}

const sorted = (refused: Partial<Refused>) =>
  Object.entries(refused)
    .map(([kind, ids]) => [kind, ids.toSorted()] as const)
    .sort(([a], [b]) => (a < b ? -1 : 1))
