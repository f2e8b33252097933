/** An organization: the name under which everything of it is kept apart. Serves: Authentication (scoping). */

/** What an organization says of itself; members that the interface does not name are kept. */
export interface OrganizationDocument {
  readonly description?: string
  readonly countryCode?: string
  readonly langCode?: string
  readonly timezone?: string
  readonly [member: string]: unknown
}

export interface Organization {
  readonly organization: number
  readonly name: string
  readonly document: OrganizationDocument
}

/** Longest name of an organization. */
export const ORGANIZATION_NAME_MAX = 100
