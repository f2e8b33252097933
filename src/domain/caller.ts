/** Who asks, once authenticated. Refuses to know how they proved it. Serves: Authentication. */

/** Serves: Operation type (`profiles`), Authentication. */
export const PROFILES = ['viewer', 'advanced', 'admin_domain', 'super_admin_domain', 'admin', 'root'] as const
export type Profile = (typeof PROFILES)[number]

/** An authenticated client. Everything it sees and does is in its organization. */
export interface Caller {
  readonly email: string
  /** number and name of the organization acted in */
  readonly organization: number
  readonly organizationName: string
  readonly profile: Profile
  /** present and true where nothing is allowed before the password was changed */
  readonly mustChangePassword?: boolean
}

/** What a profile may do beside reading and searching. */
export type Permission = 'execute' | 'manageDevices' | 'manageOperationTypes' | 'manageUsers' | 'manageOrganizations'

const PERMISSIONS: Readonly<Record<Profile, readonly Permission[]>> = {
  viewer: [],
  advanced: ['execute', 'manageDevices', 'manageOperationTypes'],
  admin_domain: ['execute', 'manageDevices', 'manageOperationTypes', 'manageUsers'],
  super_admin_domain: ['execute', 'manageDevices', 'manageOperationTypes', 'manageUsers'],
  admin: ['execute', 'manageDevices', 'manageOperationTypes', 'manageUsers'],
  root: ['execute', 'manageDevices', 'manageOperationTypes', 'manageUsers', 'manageOrganizations'],
}

/** Whether a profile may do a thing. */
export function may(profile: Profile, permission: Permission): boolean {
  return PERMISSIONS[profile].includes(permission)
}

/** Whether a profile may run a type that lists `profiles`; `viewer` never may. */
export function mayExecute(profile: Profile, typeProfiles: readonly string[] | null | undefined): boolean {
  return may(profile, 'execute') && (!typeProfiles || typeProfiles.length === 0 || typeProfiles.includes(profile))
}
