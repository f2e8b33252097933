/**
 * The use cases of operation types: what an organization may run. Clones keep what their catalog type says. Refuses to run
 * anything. Serves: Operation type.
 */
import type { Caller } from '../domain/caller.ts'
import { CATALOG, catalogType } from '../domain/catalog.ts'
import { DroverError } from '../domain/errors.ts'
import { jobId } from '../domain/identity.ts'
import { judgeProfiles, type OperationType, TYPE_MEMBERS, TYPES_MAX } from '../domain/operation-type.ts'
import type { Database, Transaction } from '../store/database.ts'
import {
  countOperationTypes,
  holdTypeNames,
  insertOperationTypes,
  listOperationTypes,
  lockJobsOfType,
  lockOperationType,
  readOperationType,
  removeOperationType,
  renameInWork,
  updateOperationType,
} from '../store/operation-types.ts'
import { lockTasks, tasksOfType } from '../store/tasks.ts'
import { judgeSchema } from './parameter-judge.ts'

/** Most operations that the answer to a deletion lists. */
export const LISTED_MAX = 1_000

/** What went with a type: public ids of the first operations that were ended and of tasks that were cancelled. */
export interface ClosedByType {
  readonly operations: readonly string[]
  readonly tasks: readonly string[]
}

export interface OperationTypesParts {
  readonly database: Database
  readonly now: () => Date
  /** ends the open operations of a type and cancels its tasks, before it is removed */
  readonly drainType: (database: Database, organization: number, name: string, now: Date) => Promise<ClosedByType>
  /** does the same with what came since, in the transaction that removes it */
  readonly closeType: (tx: Transaction, organization: number, name: string, now: Date) => Promise<ClosedByType>
  readonly onCommit: () => void
}

/** Members of a type as a client gives them: undefined is left out, null is none. */
export type TypeMembers = { readonly [Member in keyof OperationType]?: OperationType[Member] | null | undefined }

export interface OperationTypes {
  list(organization: number): Promise<OperationType[]>
  /** Throws `unknown` where the organization has no such type. */
  read(organization: number, name: string): Promise<OperationType>
  /** A clone where `fromCatalog` is given: then only the words, and who may run it, are its own. */
  create(caller: Caller, asked: TypeMembers & { readonly name: string }): Promise<OperationType>
  /**
   * Throws where a clone's schema, steps, applicability or profiles would change, and where the name of a type would of which a job
   * runs. A new name goes to the tasks of the type and to its jobs that have not started.
   */
  change(caller: Caller, name: string, change: TypeMembers): Promise<OperationType>
  remove(caller: Caller, name: string): Promise<ClosedByType>
}

type Member = keyof OperationType
const OWN_OF_CLONES: readonly Member[] = ['name', 'title', 'description']
const OWN_OF_NEW_CLONES: readonly Member[] = [...OWN_OF_CLONES, 'profiles', 'fromCatalog']

/** Every catalog type as an organization's own: what a new organization starts with. */
export function clonesOfCatalog(): OperationType[] {
  return CATALOG.map(type => ({ ...type, fromCatalog: type.name }))
}

/** Whether two values are the same JSON; members in another order are no difference. */
function same(one: unknown, other: unknown): boolean {
  if (typeof one !== 'object' || typeof other !== 'object' || one === null || other === null) return one === other
  if (Array.isArray(one) !== Array.isArray(other)) return false
  const names = Object.keys(one)
  if (names.length !== Object.keys(other).length) return false
  return names.every(
    name => Object.hasOwn(other, name) && same(one[name as keyof typeof one], other[name as keyof typeof other]),
  )
}

/** The members that are given, differ from what the type says, and are not its own to say. */
function refuseOthers(type: OperationType, given: TypeMembers, own: readonly Member[]): void {
  const others = (Object.keys(given) as Member[]).filter(member => {
    const value = given[member] ?? undefined
    return !own.includes(member) && given[member] !== undefined && !same(value, type[member])
  })
  if (others.length === 0) return
  throw new DroverError(
    'forbiddenField',
    others.map(name => ({ name })),
  )
}

/** Lays members over a type: null takes one away, what every type has falls back to nothing said. */
function laidOver(type: OperationType, members: TypeMembers): OperationType {
  const given = Object.entries(members).filter(([, value]) => value !== undefined)
  const fallback: Record<string, unknown> = FROM_SCRATCH
  const all = given.map(([name, value]) => [name, value === null ? fallback[name] : value] as const)
  const merged = Object.entries({ ...type, ...Object.fromEntries(all) }).filter(([, value]) => value !== undefined)
  return Object.fromEntries(merged) as unknown as OperationType
}

const FROM_SCRATCH = {
  applicableTo: ['entity.device'],
  models: [],
  parameters: { type: 'object' },
  steps: [],
} as const satisfies Omit<OperationType, 'name'>

function cloned(source: OperationType, asked: TypeMembers & { readonly name: string }): OperationType {
  refuseOthers(source, asked, OWN_OF_NEW_CLONES)
  const { name, title, description, profiles } = asked
  return { ...laidOver(source, { name, title, description, profiles }), fromCatalog: source.name }
}

function judge({ profiles, parameters, steps }: OperationType): void {
  if (profiles) judgeProfiles(profiles)
  judgeSchema(parameters)
  const twice = steps.find(({ name }, index) => steps.findIndex(each => each.name === name) !== index)
  if (twice) {
    throw new DroverError(
      'invalidField',
      [{ name: 'steps', value: twice.name }],
      `Invalid field: steps names ${twice.name} twice.`,
    )
  }
}

function completed(asked: TypeMembers & { readonly name: string }): OperationType {
  const { fromCatalog } = asked
  if (fromCatalog === undefined || fromCatalog === null || fromCatalog === '') {
    return laidOver({ ...FROM_SCRATCH, name: asked.name }, { ...asked, fromCatalog: undefined })
  }
  const source = catalogType(fromCatalog)
  if (source) return cloned(source, asked)
  const context = [{ name: 'fromCatalog', value: fromCatalog }]
  throw new DroverError('invalidField', context, `Invalid field: the catalog has no type ${fromCatalog}.`)
}

/** Jobs that a refusal names. */
const NAMED_MAX = 20

async function lockWork(tx: Transaction, organization: number, name: string) {
  const tasks = await lockTasks(tx, await tasksOfType(tx, organization, name))
  return { tasks, jobs: await lockJobsOfType(tx, organization, name) }
}

/** What waits goes on under the new name. What runs has told its devices the old one, and holds their live slots under it. */
async function renameWork(tx: Transaction, organization: number, from: string, to: string): Promise<void> {
  await lockWork(tx, organization, from)
  await holdTypeNames(tx, organization)
  const { tasks, jobs } = await lockWork(tx, organization, from)
  const running = jobs.filter(({ status }) => status !== 'IDLE' && status !== 'SCHEDULED')
  if (running.length > 0) {
    throw new DroverError(
      'invalidField',
      [{ name: 'name', value: running.slice(0, NAMED_MAX).map(({ job }) => jobId(job)) }],
      `Invalid field: name cannot change while jobs of ${from} run.`,
    )
  }
  await renameInWork(tx, { tasks: tasks.map(({ task }) => task), jobs: jobs.map(({ job }) => job) }, to)
}

const unknown = (name: string) => new DroverError('unknown', [{ name: 'operationName', value: name }])
const duplicated = (name: string) => new DroverError('duplicated', [{ name: 'name', value: name }])

export function createOperationTypes({
  database,
  now,
  drainType,
  closeType,
  onCommit,
}: OperationTypesParts): OperationTypes {
  return {
    list: organization => listOperationTypes(database, organization),

    async read(organization, name) {
      const type = await readOperationType(database, organization, name)
      if (!type) throw unknown(name)
      return type
    },

    async create({ organization }, asked) {
      const type = completed(asked)
      judge(type)
      if ((await countOperationTypes(database, organization)) >= TYPES_MAX) {
        const message = `An organization has at most ${TYPES_MAX} operation types.`
        throw new DroverError('invalidField', [{ name: 'name', value: type.name }], message)
      }
      if ((await insertOperationTypes(database, organization, [type], now())) === 0) throw duplicated(type.name)
      return type
    },

    async change({ organization }, name, change) {
      return await database.transaction(async tx => {
        const type = await lockOperationType(tx, organization, name)
        if (!type) throw unknown(name)
        refuseOthers(type, change, type.fromCatalog === undefined ? allBut('fromCatalog') : OWN_OF_CLONES)
        const changed = laidOver(type, change)
        judge(changed)
        if (changed.name !== name) {
          if (await readOperationType(tx, organization, changed.name)) throw duplicated(changed.name)
          await renameWork(tx, organization, name, changed.name)
        }
        await updateOperationType(tx, organization, name, changed)
        return changed
      })
    },

    async remove({ organization }, name) {
      if (!(await readOperationType(database, organization, name))) throw unknown(name)
      const work = async (tx: Transaction) => {
        if (!(await lockOperationType(tx, organization, name))) throw unknown(name)
        const closing = await closeType(tx, organization, name, now())
        await removeOperationType(tx, organization, name)
        return closing
      }
      try {
        const drained = await drainType(database, organization, name, now())
        const closed = await database.transaction(work, { byKey: true })
        return {
          operations: [...drained.operations, ...closed.operations].slice(0, LISTED_MAX),
          tasks: [...drained.tasks, ...closed.tasks],
        }
      } finally {
        // What was cancelled before it broke off is carried out all the same.
        onCommit()
      }
    },
  }
}

const allBut = (member: Member) => TYPE_MEMBERS.filter(each => each !== member)
