/** The routes of tasks: create, read, change, cancel, their jobs and their entities. Serves: Endpoints (Tasks). */
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { TargetQuery } from '../contract/job.ts'
import { PageQuery } from '../contract/operation.ts'
import { TaskAnswer, TaskBody, TaskChangeBody, TaskEntitiesPage, TaskJobsPage } from '../contract/task.ts'
import { DroverError } from '../domain/errors.ts'
import { partitionOf } from '../domain/identity.ts'
import type { JobRequest } from '../domain/job.ts'
import type { JobRequestRules } from '../domain/job-request.ts'
import { modelNames } from '../domain/operation-type.ts'
import { filterOf } from '../domain/target-selection.ts'
import { parseTaskBody, parseTaskChange } from '../domain/task-request.ts'
import type { Tasks } from '../engine/tasks.ts'
import type { Database, Transaction } from '../store/database.ts'
import { compileTriedFilter } from '../store/entity-filter.ts'
import { readOperationType } from '../store/operation-types.ts'
import { listedCondition, readSelectedEntities } from '../store/selected-entities.ts'
import { type SqlFragment, sql } from '../store/statement.ts'
import { tagCondition } from '../store/targets.ts'
import { readJobsOfTask, readTask, type TaskRow } from '../store/tasks.ts'
import { jobView } from './job-view.ts'
import { judgedByReader, mustExecute, readTargetQuery } from './jobs.ts'
import { pageView, readListingPage } from './listing.ts'
import { taskView } from './task-view.ts'

export interface TaskRoutesParts {
  readonly database: Database
  readonly tasks: Tasks
  readonly rules: JobRequestRules
  readonly now: () => Date
}

const tags = ['tasks']
const path = '/operation/tasks'
const params = Type.Object({ taskId: Type.String() })
const nothing = Type.Null({ description: 'Nothing on this page' })

/** Registers the routes of tasks, under whatever prefix the instance has. */
export function taskRoutes(app: FastifyInstance, { database, tasks, rules, now }: TaskRoutesParts): void {
  app.post(
    path,
    {
      schema: {
        tags,
        summary: 'Create a task',
        querystring: TargetQuery,
        body: TaskBody,
        response: { 201: TaskAnswer },
      },
      validatorCompiler: judgedByReader,
    },
    async (request, reply) => {
      mustExecute(request)
      const resourceType = readTargetQuery(request.query)
      const at = now()
      const asked = parseTaskBody(request.body, rules, { now: at.getTime(), resourceType })
      const task = taskView(await tasks.create(request.caller, asked, at, request.trace))
      const location = `${request.url.split('?')[0]}/${encodeURIComponent(task.id)}`
      return reply.status(201).header('location', location).send({ task })
    },
  )

  app.get(
    `${path}/:taskId`,
    { schema: { tags, summary: 'Read a task', params, response: { 200: TaskAnswer } } },
    async request => ({ task: taskView(await requestedTask(database, request)) }),
  )

  app.put(
    `${path}/:taskId`,
    {
      schema: {
        tags,
        summary: 'Change what comes of a task',
        params,
        querystring: TargetQuery,
        body: TaskChangeBody,
        response: { 200: TaskAnswer },
      },
      validatorCompiler: judgedByReader,
    },
    async request => {
      mustExecute(request)
      const at = now()
      const resourceType = readTargetQuery(request.query)
      const change = parseTaskChange(request.body, rules, { now: at.getTime(), resourceType })
      return { task: taskView(await tasks.change(request.caller, requestedId(request), change, at, request.trace)) }
    },
  )

  app.delete(
    `${path}/:taskId`,
    { schema: { tags, summary: 'Cancel a task', params, response: { 200: TaskAnswer } } },
    async request => {
      mustExecute(request)
      return { task: taskView(await tasks.cancel(request.caller, requestedId(request))) }
    },
  )

  app.get(
    `${path}/:taskId/jobs`,
    {
      schema: {
        tags,
        summary: 'The jobs of a task, newest first',
        params,
        querystring: PageQuery,
        response: { 200: TaskJobsPage, 204: nothing },
      },
      validatorCompiler: judgedByReader,
    },
    async (request, reply) => {
      const page = readListingPage(request.query)
      const { task } = await requestedTask(database, request)
      const { jobs, count } = await readJobsOfTask(database, task, (page.number - 1) * page.size, page.size)
      if (jobs.length === 0) return reply.status(204).send()
      const views = jobs.map(jobView)
      return { page: pageView(page, count), jobs: views, job: views }
    },
  )

  for (const under of [path, '/tasks']) {
    app.get(
      `${under}/:taskId/entities`,
      {
        schema: {
          tags,
          summary: 'What the target of a task resolves to now',
          params,
          querystring: PageQuery,
          response: { 200: TaskEntitiesPage, 204: nothing },
        },
        validatorCompiler: judgedByReader,
      },
      async (request, reply) => {
        const page = readListingPage(request.query)
        const { organization, request: template } = await requestedTask(database, request)
        const type = await readOperationType(database, organization, template.name)
        const { entities, count } = await readSelectedEntities(
          database,
          organization,
          await database.transaction(tx => conditionOf(tx, organization, template)),
          { resourceTypes: type?.applicableTo ?? [], models: modelNames(type?.models ?? []) },
          { skip: (page.number - 1) * page.size, size: page.size },
        )
        if (entities.length === 0) return reply.status(204).send()
        return {
          page: pageView(page, count),
          entities: entities.map(({ identifier, resourceType }) => ({ id: identifier, resourceType })),
        }
      },
    )
  }
}

function requestedId({ params }: FastifyRequest): string {
  return (params as { taskId: string }).taskId
}

async function requestedTask(database: Database, request: FastifyRequest): Promise<TaskRow> {
  const id = requestedId(request)
  const task = await readTask(database, request.caller.organization, id)
  if (!task) throw new DroverError('unknown', [{ name: 'taskId', value: id }])
  return task
}

/** The target of a template as a condition over `entity e`. */
async function conditionOf(
  tx: Transaction,
  organization: number,
  { target, resourceType }: JobRequest,
): Promise<SqlFragment> {
  const { entities = [], entitiesWithParameters = [], tags } = target.append ?? {}
  const ofType = resourceType === undefined ? sql`true` : sql`e.resource_type = ${resourceType}::text`
  const found = filterOf(target)
  if (found) {
    const path = `task.job.request.target.${found.path}`
    return sql`(${await compileTriedFilter(tx, organization, found.filter, { path })}) and ${ofType}`
  }
  if (tags?.[0] !== undefined) return sql`(${tagCondition(tags[0])}) and ${ofType}`
  const listed = [...entities, ...entitiesWithParameters.map(({ id }) => id)]
  return listedCondition(
    listed,
    listed.map(id => partitionOf(organization, id)),
  )
}
