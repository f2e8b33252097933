/**
 * The use cases of organizations: root makes, changes and removes them, everybody reads its own. What runs in one is closed by
 * whoever moves it. Serves: decisions on access, users and organizations.
 */
import { type Caller, may } from '../domain/caller.ts'
import { DroverError } from '../domain/errors.ts'
import type { Organization, OrganizationDocument } from '../domain/organization.ts'
import { type Change, changedDocument } from '../domain/user.ts'
import type { Database, Transaction } from '../store/database.ts'
import { insertOperationTypes } from '../store/operation-types.ts'
import {
  insertOrganization,
  lockOrganization,
  readOrganization,
  removeOrganization,
  updateOrganization,
} from '../store/organizations.ts'
import { removeUsersOf } from '../store/users.ts'
import type { Access } from './access.ts'
import { clonesOfCatalog } from './operation-types.ts'

export interface OrganizationsParts {
  readonly database: Database
  readonly now: () => Date
  readonly access: Access
  /** Cancels the jobs and tasks of an organization and removes what it holds, a chunk at a time, before the organization itself goes. */
  readonly drainOrganization: (database: Database, organization: number, now: Date) => Promise<void>
  /** Removes what is left of it, in the transaction in which it goes. */
  readonly closeOrganization: (tx: Transaction, organization: number, now: Date) => Promise<void>
}

export interface Organizations {
  create(caller: Caller, name: string, document: Change): Promise<Organization>
  read(caller: Caller, name: string): Promise<Organization>
  change(caller: Caller, name: string, change: Change): Promise<Organization>
  remove(caller: Caller, name: string): Promise<void>
  /** The caller as it acts in a named organization: root in any, everybody else in its own. Else there is no such one. */
  actingIn(caller: Caller, name: string): Promise<Caller>
}

/** Makes an organization with its own clone of every catalog type; undefined where the name is taken. */
export async function addOrganization(
  tx: Transaction,
  name: string,
  document: OrganizationDocument,
  now: Date,
): Promise<number | undefined> {
  const organization = await insertOrganization(tx, name, document, now)
  if (organization !== undefined) await insertOperationTypes(tx, organization, clonesOfCatalog(), now)
  return organization
}

export function createOrganizations(parts: OrganizationsParts): Organizations {
  const { database, now, access, drainOrganization, closeOrganization } = parts

  function visible(caller: Caller, name: string, found: Organization | undefined): Organization {
    const seen = found && (found.organization === caller.organization || may(caller.profile, 'manageOrganizations'))
    if (!seen) throw new DroverError('organizationNotExists', [{ name: 'organization', value: name }])
    return found
  }

  function judge(caller: Caller): void {
    if (!may(caller.profile, 'manageOrganizations')) throw new DroverError('forbidden')
  }

  return {
    async create(caller, name, asked) {
      judge(caller)
      const document = changedDocument({}, asked, 'organization')
      const organization = await database.transaction(tx => addOrganization(tx, name, document, now()))
      if (organization === undefined) throw new DroverError('duplicated', [{ name: 'organization.name', value: name }])
      return { organization, name, document }
    },

    async read(caller, name) {
      return visible(caller, name, await readOrganization(database, name))
    },

    async change(caller, name, change) {
      visible(caller, name, await readOrganization(database, name))
      judge(caller)
      return await database.transaction(async tx => {
        const found = visible(caller, name, await lockOrganization(tx, name))
        const document = changedDocument(found.document, change, 'organization')
        await updateOrganization(tx, found.organization, document)
        return { ...found, document }
      })
    },

    async remove(caller, name) {
      const { organization } = visible(caller, name, await readOrganization(database, name))
      judge(caller)
      if (organization === caller.organization) {
        const message = 'An organization cannot be removed by one of its own users.'
        throw new DroverError('invalidField', [{ name: 'organization', value: name }], message)
      }
      await drainOrganization(database, organization, now())
      await database.transaction(async tx => {
        const found = visible(caller, name, await lockOrganization(tx, name))
        // Another one of this name was not drained, nor asked for.
        if (found.organization !== organization) return
        await closeOrganization(tx, found.organization, now())
        await removeUsersOf(tx, found.organization)
        await removeOrganization(tx, found.organization)
      })
      access.forget()
    },

    async actingIn(caller, name) {
      if (name === caller.organizationName) return caller
      const found = visible(caller, name, await readOrganization(database, name))
      return { ...caller, organization: found.organization, organizationName: found.name }
    },
  }
}
