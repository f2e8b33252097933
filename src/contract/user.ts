/** What clients and the service say of users, and the login. Members that are not named here are kept. */
import { type Static, Type } from 'typebox'
import { PROFILES } from '../domain/caller.ts'
import { API_KEY_MAX, API_KEY_MIN, EMAIL_MAX, PASSWORD_MAX } from '../domain/user.ts'

const Email = Type.String({ minLength: 3, maxLength: EMAIL_MAX, pattern: '^[^@\\s]+@[^@\\s]+$' })
const Password = Type.String({ minLength: 1, maxLength: PASSWORD_MAX })
const ApiKey = Type.String({ minLength: API_KEY_MIN, maxLength: API_KEY_MAX, pattern: '^[!-~]+$' })
const Text = Type.Union([Type.String({ maxLength: 1_000 }), Type.Null()])

const described = {
  name: Type.Optional(Text),
  surname: Type.Optional(Text),
  description: Type.Optional(Text),
  workgroup: Type.Optional(Text),
  domain: Type.Optional(
    Type.Union([...Text.anyOf], {
      description: 'The organization: that of the user, and where root makes a user the one in which to make it',
    }),
  ),
  countryCode: Type.Optional(Text),
  langCode: Type.Optional(Text),
  timezone: Type.Optional(Text),
  forcePasswordChange: Type.Optional(Type.Boolean()),
}

/** Serves: Authentication (login). */
export const LoginBody = Type.Object(
  {
    email: Type.String({ minLength: 1, maxLength: EMAIL_MAX }),
    password: Password,
    '2FaCode': Type.Optional(Type.Unknown({ description: 'Taken and not used: 2FaType is NONE' })),
  },
  { examples: [{ email: 'ana@example.com', password: 'a long sentence' }] },
)
export type LoginBody = Static<typeof LoginBody>

/** A new user. Root names the organization in `domain`; everybody else makes users of its own. */
export const UserBody = Type.Object({
  user: Type.Object(
    {
      ...described,
      email: Email,
      password: Password,
      profile: Type.Enum([...PROFILES]),
      apiKey: Type.Optional(ApiKey),
    },
    {
      examples: [
        { email: 'ana@example.com', password: 'a long sentence', name: 'Ana', surname: 'Ruiz', profile: 'advanced' },
      ],
    },
  ),
})
export type UserBody = Static<typeof UserBody>

/** A change of a user: what is left out stays, null takes a member away; a null `apiKey` asks for a new one. */
export const UserChangeBody = Type.Object({
  user: Type.Object({
    ...described,
    email: Type.Optional(Email),
    password: Type.Optional(Password),
    profile: Type.Optional(Type.Enum([...PROFILES])),
    apiKey: Type.Optional(Type.Union([ApiKey, Type.Null()])),
  }),
})
export type UserChangeBody = Static<typeof UserChangeBody>

/** A user as read. The key is there for the user itself and for whoever manages it; the token at login only. */
export const UserAnswer = Type.Object({
  user: Type.Object({
    ...described,
    email: Email,
    profile: Type.Enum([...PROFILES]),
    apiKey: Type.Optional(Type.String()),
    jwt: Type.Optional(Type.String()),
    '2FaType': Type.Literal('NONE'),
  }),
})
export type UserAnswer = Static<typeof UserAnswer>
