/** The routes of organizations. */
import type { FastifyInstance } from 'fastify'
import { Type } from 'typebox'
import './request-caller.ts'
import { OrganizationAnswer, OrganizationBody, OrganizationChangeBody } from '../contract/organization.ts'
import { DroverError } from '../domain/errors.ts'
import type { Organization } from '../domain/organization.ts'
import type { Organizations } from '../engine/organizations.ts'

const tags = ['organizations']
const path = '/provision/organizations'
const params = Type.Object({ name: Type.String() })
type Named = { Params: { name: string } }

/** An organization as clients read it. */
export const organizationOf = ({ name, document }: Organization) => ({ ...document, name })
const answer = (organization: Organization) => ({ organization: organizationOf(organization) })

export function organizationRoutes(app: FastifyInstance, { organizations }: { organizations: Organizations }): void {
  app.post<{ Body: OrganizationBody }>(
    path,
    {
      config: { access: 'manageOrganizations' },
      schema: {
        tags,
        summary: 'Create an organization',
        description: 'It starts with a clone of every operation type of the catalog.',
        body: OrganizationBody,
        response: { 201: OrganizationAnswer },
      },
    },
    async (request, reply) => {
      const { name, ...document } = request.body.organization
      const made = await organizations.create(request.caller, name, document)
      return reply
        .status(201)
        .header('location', `${request.url.split('?')[0]}/${encodeURIComponent(name)}`)
        .send(answer(made))
    },
  )

  app.get<Named>(
    `${path}/:name`,
    { schema: { tags, summary: 'Read an organization', params, response: { 200: OrganizationAnswer } } },
    async request => answer(await organizations.read(request.caller, request.params.name)),
  )

  app.put<Named & { Body: OrganizationChangeBody }>(
    `${path}/:name`,
    {
      config: { access: 'own' },
      schema: {
        tags,
        summary: 'Change an organization',
        params,
        body: OrganizationChangeBody,
        response: { 200: OrganizationAnswer },
      },
    },
    async request => {
      const { name, ...change } = request.body.organization
      if (name !== undefined && name !== request.params.name) {
        const message = 'The name of an organization cannot be changed.'
        throw new DroverError('invalidField', [{ name: 'organization.name', value: name }], message)
      }
      return answer(await organizations.change(request.caller, request.params.name, change))
    },
  )

  app.delete<Named>(
    `${path}/:name`,
    {
      config: { access: 'own' },
      schema: {
        tags,
        summary: 'Remove an organization',
        description: 'Cancels its jobs and tasks and removes what it holds.',
        params,
        response: { 200: Type.Null({ description: 'Removed' }) },
      },
    },
    async (request, reply) => {
      await organizations.remove(request.caller, request.params.name)
      return reply.status(200).send()
    },
  )
}
