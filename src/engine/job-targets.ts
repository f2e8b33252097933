/**
 * Makes the operations of a job from the lists of its target, and says what is left to be resolved. Set-based, and run again it adds
 * only what is missing. Refuses to start anything.
 */

import type { FilterOptions } from '../domain/filter.ts'
import { partitionOf } from '../domain/identity.ts'
import type { TargetSelection } from '../domain/job.ts'
import { addRefusals, withdrawRefusals } from '../domain/target.ts'
import { CounterDeltas, writeDeltas } from '../store/counters.ts'
import type { Transaction } from '../store/database.ts'
import type { StoredJob, UnresolvedTarget } from '../store/jobs.ts'
import { type SqlFragment, sql } from '../store/statement.ts'
import {
  type Applicability,
  addListedOperations,
  addOwnParameters,
  exceptCondition,
  removeListedOperations,
  removeTaggedOperations,
  tagCondition,
} from '../store/targets.ts'

/** How a filter becomes a condition over `entity e`; throws a DroverError where the filter is wrong. */
export type FilterCompiler = (
  tx: Transaction,
  organization: number,
  filter: Readonly<Record<string, unknown>>,
  options?: Pick<FilterOptions, 'path'>,
) => Promise<SqlFragment>

/** Adds the listed entities of a selection to a locked job, judged now; what is refused is kept with the job. */
export async function addListed(
  tx: Transaction,
  job: StoredJob,
  selection: TargetSelection,
  applicable: Applicability,
): Promise<number> {
  const own = new Map(
    (selection.entitiesWithParameters ?? []).flatMap(({ id, parameters }) => (parameters ? [[id, parameters]] : [])),
  )
  const asked = [...(selection.entities ?? []), ...(selection.entitiesWithParameters ?? []).map(each => each.id)]
  const distinct = new Set<string>()
  const repeated: string[] = []
  for (const id of asked) {
    if (distinct.has(id)) repeated.push(id)
    distinct.add(id)
  }
  const judged = await addListedOperations(
    tx,
    job.job,
    job.organization,
    [...distinct].map(identifier => ({ identifier, partition: partitionOf(job.organization, identifier) })),
    applicable,
  )
  const refused = (verdict: string) => judged.filter(each => each.verdict === verdict).map(each => each.identifier)
  const duplicated = [...refused('duplicated'), ...repeated]
  job.refused = addRefusals(withdrawRefusals(job.refused, distinct), {
    notProvisioned: countOf(refused('notProvisioned')),
    notAllowed: countOf(refused('notAllowed')),
    duplicated: countOf(duplicated),
  })
  const added = judged.filter(each => each.verdict === 'added')
  await addOwnParameters(
    tx,
    job.job,
    added
      .filter(each => own.has(each.identifier))
      .map(each => ({ partition: each.partition!, entity: each.entity!, parameters: own.get(each.identifier)! })),
  )
  await countScheduled(tx, job.job, added.length)
  return added.length
}

const countOf = (ids: readonly string[]) => ({ ids, count: ids.length })

/** Counts operations that were made, or taken back where `by` is negative. */
export async function countScheduled(tx: Transaction, job: bigint, by: number): Promise<void> {
  const deltas = new CounterDeltas()
  deltas.move(job, null, 'scheduled', by)
  await writeDeltas(tx, deltas)
}

/** Takes entities and tags out of a locked job that has not started. */
export async function removeTargets(
  tx: Transaction,
  job: StoredJob,
  selection: Pick<TargetSelection, 'entities' | 'tags'>,
): Promise<void> {
  const listed = [...new Set(selection.entities ?? [])]
  let removed = 0
  job.refused = withdrawRefusals(job.refused, new Set(listed))
  if (listed.length > 0) {
    removed += await removeListedOperations(
      tx,
      job.job,
      job.organization,
      listed.map(identifier => ({ identifier, partition: partitionOf(job.organization, identifier) })),
    )
  }
  for (const tag of selection.tags ?? []) {
    removed += await removeTaggedOperations(tx, job.job, job.organization, tag)
    job.unresolved = job.unresolved.filter(part => !('tag' in part && part.tag === tag))
  }
  job.unresolved = job.unresolved.map(part =>
    'listed' in part ? part : { ...part, except: withOut(part.except, selection) },
  )
  await countScheduled(tx, job.job, -removed)
}

/** What is taken out of a part of a target that is still to be resolved, and more of it. */
function withOut(
  except: Pick<TargetSelection, 'entities' | 'tags'> = {},
  { entities = [], tags = [] }: Pick<TargetSelection, 'entities' | 'tags'>,
): Pick<TargetSelection, 'entities' | 'tags'> {
  return {
    entities: [...new Set([...(except.entities ?? []), ...entities])],
    tags: [...new Set([...(except.tags ?? []), ...tags])],
  }
}

/** The parts of a selection that the service resolves later. */
export function unresolvedOf(
  selection: TargetSelection,
  resourceType: string | undefined,
): Exclude<UnresolvedTarget, { listed: unknown }>[] {
  const narrowed = resourceType === undefined ? {} : { resourceType }
  return [
    ...(selection.tags ?? []).map(tag => ({ tag, ...narrowed })),
    ...(selection.filter ? [{ filter: selection.filter, ...narrowed }] : []),
  ]
}

/** What a part of a target applies to: the type's entity types, narrowed to the one the client named. */
export function narrowed(applicable: Applicability, resourceType: string | undefined): Applicability {
  if (resourceType === undefined) return applicable
  return { ...applicable, resourceTypes: applicable.resourceTypes.filter(type => type === resourceType) }
}

/** The condition over `entity e` of a part of a target, without what was taken out of it since. */
export async function conditionOf(
  tx: Transaction,
  organization: number,
  part: Exclude<UnresolvedTarget, { listed: unknown }>,
  compile: FilterCompiler,
): Promise<SqlFragment> {
  const selected = 'tag' in part ? tagCondition(part.tag) : await compile(tx, organization, part.filter)
  const { entities = [], tags = [] } = part.except ?? {}
  return entities.length + tags.length === 0
    ? selected
    : sql`(${selected}) and not (${exceptCondition(entities, tags)})`
}
