/** Organizations and devices for tests that need them to be there, made as the service makes them. */
import { createHash } from 'node:crypto'
import { readEntityForm } from '../src/domain/entity-form.ts'
import { numberSource } from '../src/domain/identity.ts'
import { createClock } from '../src/engine/clock.ts'
import { createDatastreams } from '../src/engine/datastreams.ts'
import { createEntities, type Entities, type EntitiesParts, type EntityOwner } from '../src/engine/entities.ts'
import type { Database } from '../src/store/database.ts'
import { readEntities, type StoredEntity } from '../src/store/entities.ts'
import { sql } from '../src/store/statement.ts'

/** The hash by which the tests' keys are known. */
export const hashKey = (key: string) => createHash('sha256').update(key).digest()

/** The use case with parts that suit a test; keys are `key-1`, `key-2` and so on. */
export function testEntities(database: Database, parts: Partial<EntitiesParts> = {}): Entities {
  let keys = 0
  return createEntities({
    database,
    clock: createClock(Date.now),
    datastreams: createDatastreams(database),
    nextNumber: numberSource(Date.now, 1),
    makeKey() {
      const key = `key-${++keys}`
      return { key, hash: hashKey(key), sealed: Buffer.from(key) }
    },
    closeEntities: async () => {},
    drainEntities: async () => {},
    wakeReached: async () => false,
    ...parts,
  })
}

export async function addOrganization(database: Database, name: string): Promise<EntityOwner> {
  const [row] = await database.query<{ organization: number }>(
    sql`insert into organization (name, created_at) values (${name}, now()) returning organization`,
  )
  return { organization: row!.organization, organizationName: name }
}

/** Adds an entity described in the flattened form; fails where the service would refuse it. */
export async function addEntity(
  database: Database,
  entities: Entities,
  owner: EntityOwner,
  body: Record<string, unknown>,
): Promise<StoredEntity & { readonly apiKey?: string }> {
  const said = readEntityForm(body, true)
  if (!said.ok) throw new Error(JSON.stringify(said.problems))
  const [outcome] = await entities.write(owner, 'CREATE', [{ said: said.value }])
  if (!outcome?.ok) throw outcome?.error
  const [stored] = await readEntities(database, owner.organization, [outcome.identifier])
  return { ...stored!, ...(outcome.apiKey !== undefined && { apiKey: outcome.apiKey }) }
}
