/** The routes of users and the login. Who may do what to whom is the engine's to say. */
import type { FastifyInstance } from 'fastify'
import { Type } from 'typebox'
import './request-caller.ts'
import { LoginBody, UserAnswer, UserBody, UserChangeBody } from '../contract/user.ts'
import { DroverError } from '../domain/errors.ts'
import { type Access, callerOf } from '../engine/access.ts'
import type { Users, UserView } from '../engine/users.ts'

export interface UserRoutesParts {
  readonly access: Access
  readonly users: Users
}

const tags = ['users']
const path = '/provision/users'
const params = Type.Object({ email: Type.String() })

/** A user as clients read it. */
export function userOf({ email, profile, organizationName, document, apiKey }: UserView) {
  const places = { workgroup: organizationName, domain: organizationName }
  const key = apiKey !== undefined && { apiKey }
  return { ...places, ...document, email, profile, ...key, '2FaType': 'NONE' as const }
}

/** Members of a user that the service keeps without knowing them. */
function documentOf(user: object): Record<string, unknown> {
  const known = ['email', 'password', 'profile', 'apiKey', 'jwt', '2FaType']
  return Object.fromEntries(Object.entries(user).filter(([name]) => !known.includes(name)))
}

/** Serves: Authentication. */
export function userRoutes(app: FastifyInstance, { access, users }: UserRoutesParts): void {
  app.post<{ Body: LoginBody }>(
    `${path}/login`,
    {
      config: { access: 'open', holdsSecret: true },
      schema: { tags, summary: 'Log in', security: [], body: LoginBody, response: { 200: UserAnswer } },
    },
    async request => {
      const { email, password } = request.body
      const { user, jwt, apiKey } = await access.login(email, password, request.ip)
      request.caller = callerOf(user)
      return { user: { ...userOf({ ...user, apiKey }), jwt } }
    },
  )

  app.post<{ Body: UserBody }>(
    path,
    {
      config: { access: 'manageUsers', holdsSecret: true },
      schema: { tags, summary: 'Create a user', body: UserBody, response: { 201: UserAnswer } },
    },
    async (request, reply) => {
      const { email, password, profile, apiKey } = request.body.user
      const document = documentOf(request.body.user)
      const user = await users.create(request.caller, { email, password, profile, apiKey, document })
      return reply
        .status(201)
        .header('location', `${request.url.split('?')[0]}/${encodeURIComponent(user.email)}`)
        .send({ user: userOf(user) })
    },
  )

  app.get<{ Params: { email: string } }>(
    `${path}/:email`,
    {
      config: { holdsSecret: true },
      schema: { tags, summary: 'Read a user', params, response: { 200: UserAnswer } },
    },
    async request => ({ user: userOf(await users.read(request.caller, request.params.email)) }),
  )

  app.put<{ Params: { email: string }; Body: UserChangeBody }>(
    `${path}/:email`,
    {
      config: { access: 'own', holdsSecret: true },
      schema: {
        tags,
        summary: 'Change a user',
        description: 'A change of one’s own password or key carries the present password in the header X-ApiPass.',
        params,
        headers: Type.Object({ 'x-apipass': Type.Optional(Type.String()) }),
        body: UserChangeBody,
        response: { 200: UserAnswer },
      },
    },
    async request => {
      const { email, password, profile, apiKey } = request.body.user
      const document = documentOf(request.body.user)
      const named = request.params.email
      if (email !== undefined && email.toLowerCase() !== named.toLowerCase()) {
        throw new DroverError('invalidField', [{ name: 'user.email', value: email }], 'An email cannot be changed.')
      }
      const pass = request.headers['x-apipass']
      const proof = { password: typeof pass === 'string' ? pass : undefined, address: request.ip }
      const change = { password, profile, apiKey, document }
      return { user: userOf(await users.change(request.caller, named, change, proof)) }
    },
  )

  app.delete<{ Params: { email: string } }>(
    `${path}/:email`,
    {
      config: { access: 'manageUsers' },
      schema: { tags, summary: 'Remove a user', params, response: { 200: Type.Null({ description: 'Removed' }) } },
    },
    async (request, reply) => {
      await users.remove(request.caller, request.params.email)
      return reply.status(200).send()
    },
  )
}
