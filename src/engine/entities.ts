/**
 * Provisions entities: creates, replaces, patches and deletes them by the batch, each answered on its own, and gives devices their
 * keys. A single call is a batch of one. Refuses to know forms of bodies beyond what they say, and HTTP.
 * Serves: Authentication and device-side endpoints (provisioning).
 */
import { IDENTIFIER_IDS, type ResourceType } from '../domain/data-model.ts'
import { type Entity, identify, makeEntity, mergeEntity, traitsOf } from '../domain/entity.ts'
import type { SaidValues } from '../domain/entity-form.ts'
import { DroverError } from '../domain/errors.ts'
import { isReachedAnew } from '../domain/flow.ts'
import type { Parsed } from '../domain/problems.ts'
import { refusalOf } from '../domain/refusal.ts'
import { lockCarried } from '../store/carried.ts'
import type { Database, Transaction } from '../store/database.ts'
import {
  deleteEntities,
  type EntityKey,
  insertEntities,
  type KeptKey,
  lockEntities,
  type NewEntity,
  readEntities,
  replaceDeviceKey,
  type StoredEntity,
  updateEntities,
} from '../store/entities.ts'
import type { Clock } from './clock.ts'
import type { Datastreams } from './datastreams.ts'
import { isLinked, settleLinked } from './entity-carrying.ts'

/** What can be done to an entity. Serves: Provisioning (bulk). */
export const ENTITY_ACTIONS = ['CREATE', 'UPDATE', 'PATCH', 'DELETE'] as const
export type EntityAction = (typeof ENTITY_ACTIONS)[number]

/** The organization in which a call acts. */
export interface EntityOwner {
  readonly organization: number
  readonly organizationName: string
}

/** What is asked for one entity: what the body says, and the kind and identifier that the address says, where it does. */
export interface EntityRequest {
  readonly said: SaidValues
  readonly resourceType?: ResourceType
  readonly identifier?: string
}

/** What became of one request. A created device brings its key, here and never again. */
export type EntityOutcome =
  | { readonly ok: true; readonly identifier: string; readonly resourceType: ResourceType; readonly apiKey?: string }
  | { readonly ok: false; readonly error: DroverError }

/** Makes a new device key: in the clear, and as it is kept. */
export type KeyMaker = () => KeptKey & { readonly key: string }

export interface EntitiesParts {
  readonly database: Database
  readonly clock: Clock
  readonly datastreams: Datastreams
  readonly nextNumber: () => bigint
  readonly makeKey: KeyMaker
  /** ends what runs on entities that are to be deleted, where that is much, or more than `left`, before they are and after it */
  readonly drainEntities: (
    database: Database,
    entities: readonly EntityKey[],
    now: Date,
    left?: number,
  ) => Promise<void>
  /** ends what is left to run on entities that are deleted, in the transaction that deletes them */
  readonly closeEntities: (tx: Transaction, entities: readonly EntityKey[], now: Date) => Promise<unknown>
  /** told after the commit of entities deleted and of devices whose key has changed */
  readonly onGone?: (entities: readonly EntityKey[]) => void
  /**
   * makes ready what waits for devices that are reached over HTTP from now on, or elsewhere, in the transaction that says so; answers
   * whether there was something
   */
  readonly wakeReached: (tx: Transaction, devices: readonly EntityKey[]) => Promise<boolean>
  /** told after the commit that something was */
  readonly onWoken?: () => void
}

export interface Entities {
  /** Carries out one action on entities of one organization; answers in the order asked. Fails as a whole only with the database. */
  write(owner: EntityOwner, action: EntityAction, requests: readonly EntityRequest[]): Promise<EntityOutcome[]>
  /** Gives a device a new key in place of its old one. Fails with `entityNotExists`. */
  renewKey(organization: number, identifier: string): Promise<string>
  /** Takes a device its key. Fails with `entityNotExists`. */
  revokeKey(organization: number, identifier: string): Promise<void>
}

/** A request found fit so far, with where its answer belongs. */
interface Draft extends EntityRequest {
  readonly at: number
  readonly identifier: string
}

/** What one transaction does. */
interface Round {
  readonly owner: EntityOwner
  readonly action: EntityAction
  readonly drafts: readonly Draft[]
  readonly now: Date
}

/** Its answers by place, the entities that are no more, and whether operations were made ready. */
interface RoundResult {
  readonly outcomes: Map<number, EntityOutcome>
  readonly gone: readonly EntityKey[]
  readonly woken: boolean
}

export function createEntities(parts: EntitiesParts): Entities {
  const { database, clock, datastreams, closeEntities, drainEntities, wakeReached, onGone, onWoken } = parts

  async function write(
    owner: EntityOwner,
    action: EntityAction,
    requests: readonly EntityRequest[],
  ): Promise<EntityOutcome[]> {
    const outcomes = new Map<number, EntityOutcome>()
    let waiting: Draft[] = []
    for (const [at, request] of requests.entries()) {
      const whom = identify(request.said, { organizationName: owner.organizationName, ...request })
      if (whom.ok) waiting.push({ ...request, at, identifier: whom.value.identifier })
      else outcomes.set(at, refused(whom))
    }
    await datastreams.remember(idsOf(owner, action, waiting))
    while (waiting.length > 0) {
      // What is asked twice of one entity is done one after the other.
      const first = new Map(waiting.toReversed().map(draft => [draft.identifier, draft.at]))
      const drafts = waiting.filter(draft => first.get(draft.identifier) === draft.at)
      waiting = waiting.filter(draft => first.get(draft.identifier) !== draft.at)
      const round: Round = { owner, action, drafts, now: clock.now() }
      if (action === 'DELETE') await drainEntities(database, await standing(round), round.now)
      const work = (tx: Transaction) => (action === 'CREATE' ? create(tx, round) : change(tx, round))
      // What ends with an entity is found by key; what many new ones are joined with is left to the planner.
      const result = await database.transaction(work, { byKey: action === 'DELETE' })
      for (const [at, outcome] of result.outcomes) outcomes.set(at, outcome)
      if (result.gone.length > 0) {
        onGone?.(result.gone)
        // Until the commit they were there: a job made meanwhile may have been launched on them, and nothing else would end it.
        await drainEntities(database, result.gone, clock.now(), 0)
      }
      if (result.woken) onWoken?.()
    }
    return requests.map((_, at) => outcomes.get(at)!)
  }

  /** Those that a deletion finds. */
  async function standing({ owner, drafts }: Round): Promise<StoredEntity[]> {
    const kinds = new Map(drafts.map(({ identifier, resourceType }) => [identifier, resourceType]))
    const found = await readEntities(database, owner.organization, [...kinds.keys()])
    return found.filter(({ identifier, resourceType }) => (kinds.get(identifier) ?? resourceType) === resourceType)
  }

  async function create(tx: Transaction, { owner, drafts, now }: Round): Promise<RoundResult> {
    const outcomes = new Map<number, EntityOutcome>()
    const made = new Map<string, { readonly at: number; readonly apiKey?: string; readonly row: NewEntity }>()
    for (const { at, ...request } of drafts) {
      const entity = makeEntity(request.said, { organizationName: owner.organizationName, ...request })
      if (!entity.ok) outcomes.set(at, refused(entity))
      else if (entity.value.resourceType === 'entity.device') {
        const { key: apiKey, ...key } = parts.makeKey()
        made.set(entity.value.identifier, { at, apiKey, row: { ...entity.value, entity: parts.nextNumber(), key } })
      } else {
        made.set(entity.value.identifier, { at, row: { ...entity.value, entity: parts.nextNumber(), key: null } })
      }
    }
    const rows = [...made.values()].map(({ row }) => row)
    const linked = rows.some(isLinked)
    if (linked) await lockCarried(tx, owner.organization)
    const inserted = new Map(
      (await insertEntities(tx, owner.organization, rows, now)).map(key => [key.identifier, key]),
    )
    for (const { at, apiKey, row } of made.values()) {
      const { identifier, resourceType } = row
      outcomes.set(
        at,
        inserted.has(identifier)
          ? { ok: true, identifier, resourceType, ...(apiKey !== undefined && { apiKey }) }
          : {
              ok: false,
              error: new DroverError('duplicated', [{ name: IDENTIFIER_IDS[resourceType], value: identifier }]),
            },
      )
    }
    if (!linked) return { outcomes, gone: [], woken: false }
    const written = rows.filter(row => inserted.has(row.identifier))
    const moved = await settleLinked(
      tx,
      owner.organization,
      written.map(row => ({ ...inserted.get(row.identifier)!, resourceType: row.resourceType, now: row })),
    )
    return { outcomes, gone: [], woken: await wakeReached(tx, moved) }
  }

  async function change(tx: Transaction, { owner, action, drafts, now }: Round): Promise<RoundResult> {
    const { organization, organizationName } = owner
    await lockCarried(tx, organization)
    const found = await lockEntities(
      tx,
      organization,
      drafts.map(({ identifier }) => identifier),
    )
    const stored = new Map(found.map(entity => [entity.identifier, entity]))
    const outcomes = new Map<number, EntityOutcome>()
    const changes: { readonly before: StoredEntity; readonly now: Entity | undefined }[] = []
    for (const { at, identifier, resourceType, said } of drafts) {
      const before = stored.get(identifier)
      if (before === undefined || (resourceType !== undefined && resourceType !== before.resourceType)) {
        outcomes.set(at, { ok: false, error: notExists(identifier) })
        continue
      }
      const frame = { organizationName, identifier, resourceType: before.resourceType }
      const after =
        action === 'DELETE'
          ? undefined
          : action === 'PATCH'
            ? mergeEntity(before, said, frame)
            : makeEntity(said, frame)
      if (after?.ok === false) {
        outcomes.set(at, refused(after))
        continue
      }
      outcomes.set(at, { ok: true, identifier, resourceType: before.resourceType })
      changes.push({ before, now: after?.value })
    }
    const gone = changes.filter(({ now }) => now === undefined).map(({ before }) => before)
    await updateEntities(
      tx,
      changes.flatMap(({ before, now }) => (now ? [{ ...before, ...now }] : [])),
      now,
    )
    if (gone.length > 0) {
      await closeEntities(tx, gone, now)
      await deleteEntities(tx, gone, now)
    }
    const linked = changes.filter(({ before, now }) => isLinked(before) || (now && isLinked(now)))
    const moved = await settleLinked(
      tx,
      organization,
      linked.map(({ before: { partition, entity, identifier, resourceType }, now }) => ({
        partition,
        entity,
        identifier,
        resourceType,
        now,
      })),
    )
    const reachedAnew = changes
      .filter(({ before, now }) => now && isReachedAnew(traitsOf(before), traitsOf(now)))
      .map(({ before }) => before)
    return { outcomes, gone, woken: await wakeReached(tx, [...reachedAnew, ...moved]) }
  }

  async function newKey(organization: number, identifier: string, key: KeptKey | null): Promise<void> {
    const device = await replaceDeviceKey(database, organization, identifier, key)
    if (device === undefined) throw notExists(identifier)
    onGone?.([device])
  }

  return {
    write,
    async renewKey(organization, identifier) {
      const { key, ...kept } = parts.makeKey()
      await newKey(organization, identifier, kept)
      return key
    },
    revokeKey: (organization, identifier) => newKey(organization, identifier, null),
  }
}

function* idsOf(
  { organization }: EntityOwner,
  action: EntityAction,
  drafts: readonly Draft[],
): Generator<{ readonly organization: number; readonly id: string }> {
  if (action === 'DELETE') return
  for (const { said } of drafts) for (const [id, value] of said) if (value !== null) yield { organization, id }
}

function refused(parsed: Parsed<unknown>): EntityOutcome {
  return { ok: false, error: refusalOf(parsed.ok ? [] : parsed.problems) }
}

/** The one refusal for what is not there, of another kind or another organization's. */
export function notExists(identifier: string): DroverError {
  return new DroverError('entityNotExists', [{ name: 'identifier', value: identifier }])
}
