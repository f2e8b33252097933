/**
 * The commands about devices of the model test: they are deleted while operations run on them, and provisioned again. It knows who is
 * there, and that nothing reaches who is not. Refuses to know jobs.
 */
import type { Caller } from '../../src/domain/caller.ts'
import { ERRORS } from '../../src/domain/errors.ts'
import type { Database } from '../../src/store/database.ts'
import { sql } from '../../src/store/statement.ts'
import { entitiesOf, type Flow, type LivingDevice, livingDevices, tagsOf } from './model-ground.ts'
import type { ModelProcesses } from './model-processes.ts'

export interface ModelEntitiesParts {
  readonly database: Database
  readonly caller: Caller
  readonly flows: ReadonlyMap<string, Flow>
  readonly command: ModelProcesses['command']
  /** told of a device that is gone */
  readonly onGone: (device: string) => void
  readonly breach: (what: string) => void
}

export type ModelEntities = Awaited<ReturnType<typeof createModelEntities>>

export async function createModelEntities(parts: ModelEntitiesParts) {
  const { database, caller, flows, command, onGone, breach } = parts
  const identifiers = [...flows.keys()]
  const gone = new Set<bigint>()
  let living = await livingDevices(database, caller.organization)
  let turn = 0

  async function look(): Promise<void> {
    living = await livingDevices(database, caller.organization)
  }

  return {
    living: () => living,
    /** One that is there, by its identifier. */
    find: (identifier: string): LivingDevice | undefined => living.get(identifier),
    isGone: (entity: bigint) => gone.has(entity),
    async remove(index: number): Promise<void> {
      const identifier = identifiers[index % identifiers.length]!
      const before = living.get(identifier)
      const outcome = await command(bench => entitiesOf(bench).remove(bench.caller, identifier))
      await look()
      if (outcome.kind === 'refused') {
        const { code } = outcome.error.entry
        if (before || code !== ERRORS.entityNotExists.code) breach(`DELETE of ${identifier} was refused by ${code}`)
        return
      }
      if (outcome.kind === 'obeyed' && !before) return breach(`${identifier} was deleted twice`)
      if (living.has(identifier) || !before) {
        if (outcome.kind === 'obeyed') breach(`${identifier} is there after it was deleted`)
        return
      }
      gone.add(before.entity)
      onGone(identifier)
      const left = await database.query(
        sql`select job from operation where partition = ${before.partition} and entity = ${before.entity}`,
      )
      if (left.length > 0) breach(`${identifier} was deleted, and ${left.length} of its operations are open`)
    },
    async provision(index: number): Promise<void> {
      const identifier = identifiers[index % identifiers.length]!
      const flow = flows.get(identifier)!
      const isThere = living.has(identifier)
      turn += 1
      const outcome = await command(bench =>
        entitiesOf(bench).provision(bench.caller, [{ identifier, flow, tags: tagsOf(flow, turn % 2 === 0) }]),
      )
      await look()
      const code = outcome.kind === 'refused' ? outcome.error.entry.code : null
      if (outcome.kind !== 'unanswered' && isThere !== (code === ERRORS.duplicated.code)) {
        breach(`${identifier} was provisioned: ${code}`)
      }
      if (outcome.kind === 'obeyed' && !living.has(identifier)) breach(`${identifier} was provisioned and is not there`)
    },
  }
}
