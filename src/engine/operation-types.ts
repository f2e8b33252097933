/**
 * The use cases of operation types: what an organization may run. Clones keep what their catalog type says. Refuses to run
 * anything. Serves: Operation type.
 */

import type { Caller } from '../domain/caller.ts'
import { CATALOG, catalogType } from '../domain/catalog.ts'
import { DroverError } from '../domain/errors.ts'
import { judgeProfiles, type OperationType, TYPE_NAME_MAX } from '../domain/operation-type.ts'
import type { Database, Transaction } from '../store/database.ts'
import {
  insertOperationTypes,
  listOperationTypes,
  readOperationType,
  removeOperationType,
  updateOperationType,
} from '../store/operation-types.ts'
import { judgeSchema } from './parameter-judge.ts'

/** What went with a type: public ids of operations that were ended and tasks that were cancelled. */
export interface ClosedByType {
  readonly operations: readonly string[]
  readonly tasks: readonly string[]
}

export interface OperationTypesParts {
  readonly database: Database
  readonly now: () => Date
  /** ends the open operations of a type and cancels its tasks, in the transaction that removes it */
  readonly closeType: (tx: Transaction, organization: number, name: string, now: Date) => Promise<ClosedByType>
  readonly onCommit: () => void
}

/** A type from scratch, or a clone: then only the words, and who may run it, are its own. */
export type NewOperationType =
  | OperationType
  | (Pick<OperationType, 'name' | 'title' | 'description' | 'profiles'> & { readonly fromCatalog: string })

export interface OperationTypes {
  list(organization: number): Promise<OperationType[]>
  find(organization: number, name: string): Promise<OperationType | undefined>
  create(caller: Caller, type: NewOperationType): Promise<OperationType>
  /** Throws where a clone's schema, steps, applicability or profiles would change. */
  change(caller: Caller, name: string, change: Partial<OperationType>): Promise<OperationType>
  remove(caller: Caller, name: string): Promise<ClosedByType>
}

const OWN_OF_CLONES: readonly string[] = ['name', 'title', 'description']

/** Every catalog type as an organization's own: what a new organization starts with. */
export function clonesOfCatalog(): OperationType[] {
  return CATALOG.map(type => ({ ...type, fromCatalog: type.name }))
}

export function createOperationTypes({ database, now, closeType, onCommit }: OperationTypesParts): OperationTypes {
  function judge(type: OperationType): void {
    if (type.name.length === 0 || type.name.length > TYPE_NAME_MAX) {
      throw new DroverError('invalidField', [{ name: 'name' }], `name must have 1 to ${TYPE_NAME_MAX} characters.`)
    }
    if (type.profiles) judgeProfiles(type.profiles)
    judgeSchema(type.parameters)
  }

  function completed(asked: NewOperationType): OperationType {
    if (asked.fromCatalog === undefined) return asked as OperationType
    const source = catalogType(asked.fromCatalog)
    if (!source) {
      throw new DroverError(
        'invalidField',
        [{ name: 'fromCatalog', value: asked.fromCatalog }],
        'The catalog has no such type.',
      )
    }
    const { profiles } = asked
    return {
      ...source,
      name: asked.name,
      ...(asked.title !== undefined && { title: asked.title }),
      ...(asked.description !== undefined && { description: asked.description }),
      ...(profiles && { profiles }),
      fromCatalog: source.name,
    }
  }

  return {
    list: organization => listOperationTypes(database, organization),
    find: (organization, name) => readOperationType(database, organization, name),
    async create(caller, asked) {
      const type = completed(asked)
      judge(type)
      const made = await insertOperationTypes(database, caller.organization, [type], now())
      if (made === 0)
        throw new DroverError('duplicated', [{ name: 'name', value: type.name }], 'The operation type exists already.')
      return type
    },
    async change(caller, name, change) {
      return await database.transaction(async tx => {
        const type = await readOperationType(tx, caller.organization, name)
        if (!type) throw new DroverError('unknown', [{ name: 'operationName', value: name }])
        const same = (member: string) =>
          JSON.stringify(change[member as keyof OperationType]) === JSON.stringify(type[member as keyof OperationType])
        const fixed = Object.keys(change).filter(member => !OWN_OF_CLONES.includes(member) && !same(member))
        if (type.fromCatalog !== undefined && fixed.length > 0) {
          throw new DroverError(
            'forbiddenField',
            fixed.map(member => ({ name: member })),
          )
        }
        const changed: OperationType = { ...type, ...change }
        judge(changed)
        if (changed.name !== name && (await readOperationType(tx, caller.organization, changed.name))) {
          throw new DroverError(
            'duplicated',
            [{ name: 'name', value: changed.name }],
            'The operation type exists already.',
          )
        }
        await updateOperationType(tx, caller.organization, name, changed)
        return changed
      })
    },
    async remove(caller, name) {
      const closed = await database.transaction(async tx => {
        const closing = await closeType(tx, caller.organization, name, now())
        if (!(await removeOperationType(tx, caller.organization, name))) {
          throw new DroverError('unknown', [{ name: 'operationName', value: name }])
        }
        return closing
      })
      onCommit()
      return closed
    },
  }
}
