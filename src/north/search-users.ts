/**
 * The searches of users and of organizations: everybody finds those of its own organization, who manages organizations finds all. Keys
 * are never among what is found. Serves: Authentication, Job and operation search.
 */
import type { FastifyInstance } from 'fastify'
import { Type } from 'typebox'
import { PageView } from '../contract/operation.ts'
import { OrganizationAnswer } from '../contract/organization.ts'
import { UserAnswer } from '../contract/user.ts'
import { type Caller, may } from '../domain/caller.ts'
import type { Database } from '../store/database.ts'
import { readOrganizationsAmong } from '../store/organizations.ts'
import { organizationTable, userTable } from '../store/user-tables.ts'
import { readUsersAmong } from '../store/users.ts'
import { organizationOf } from './organizations.ts'
import { type Searched, searchRoute } from './search.ts'
import { userOf } from './users.ts'

const seenBy = ({ profile, organization }: Caller): number | 'all' =>
  may(profile, 'manageOrganizations') ? 'all' : organization

const USERS: Searched<{ email: string }> = {
  name: 'users',
  answer: Type.Object({ page: PageView, users: Type.Array(UserAnswer.properties.user) }),
  table: caller => userTable(seenBy(caller)),
  async rows(db, keys) {
    const users = await readUsersAmong(
      db,
      keys.map(key => key.email),
    )
    return users.map(({ email, organization, organizationName, profile, document }) =>
      userOf({ email, organization, organizationName, profile, document }),
    )
  },
  summary: { profile: 'users.profile', domain: 'users.domain' },
}

const ORGANIZATIONS: Searched<{ organization: number }> = {
  name: 'organizations',
  answer: Type.Object({ page: PageView, organizations: Type.Array(OrganizationAnswer.properties.organization) }),
  table: caller => organizationTable(seenBy(caller)),
  async rows(db, keys) {
    const found = await readOrganizationsAmong(
      db,
      keys.map(key => key.organization),
    )
    return found.map(organizationOf)
  },
  summary: { countryCode: 'organizations.countryCode' },
}

/** Registers the searches of users and organizations. */
export function searchUserRoutes(app: FastifyInstance, { database }: { readonly database: Database }): void {
  searchRoute(app, database, '/search/users', USERS)
  searchRoute(app, database, '/search/organizations', ORGANIZATIONS)
}
