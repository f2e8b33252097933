/** What clients and the service say of organizations. Members that are not named here are kept. */
import { type Static, Type } from 'typebox'
import { ORGANIZATION_NAME_MAX } from '../domain/organization.ts'

const Name = Type.String({
  minLength: 1,
  maxLength: ORGANIZATION_NAME_MAX,
  pattern: '^[^\\s/\\p{C}]([^/\\p{C}]*[^\\s/\\p{C}])?$',
})
const Text = Type.Union([Type.String({ maxLength: 1_000 }), Type.Null()])

const described = {
  description: Type.Optional(Text),
  countryCode: Type.Optional(Text),
  langCode: Type.Optional(Text),
  timezone: Type.Optional(Text),
}

/** A new organization. */
export const OrganizationBody = Type.Object({
  organization: Type.Object({ ...described, name: Name }, { examples: [{ name: 'waterworks', countryCode: 'ES' }] }),
})
export type OrganizationBody = Static<typeof OrganizationBody>

/** A change of an organization: what is left out stays, null takes a member away; the name stays for ever. */
export const OrganizationChangeBody = Type.Object({
  organization: Type.Object({ ...described, name: Type.Optional(Name) }),
})
export type OrganizationChangeBody = Static<typeof OrganizationChangeBody>

/** An organization as read. */
export const OrganizationAnswer = Type.Object({ organization: Type.Object({ ...described, name: Name }) })
export type OrganizationAnswer = Static<typeof OrganizationAnswer>
