/**
 * The routes of jobs: create, read, change, cancel. A few lines each: the domain reads what is asked, the engine does it, the view
 * answers. Serves: Endpoints (Jobs).
 */
import { createHash } from 'node:crypto'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import './request-caller.ts'
import { Type } from 'typebox'
import { JobBody, JobChangeBody, JobView, TargetQuery } from '../contract/job.ts'
import { may } from '../domain/caller.ts'
import { DroverError } from '../domain/errors.ts'
import { parseJobId } from '../domain/identity.ts'
import { type JobRequestRules, parseJobBody, parseJobChange } from '../domain/job-request.ts'
import { readMembers } from '../domain/reading.ts'
import { refusalOf } from '../domain/refusal.ts'
import type { Jobs } from '../engine/jobs.ts'
import type { Database } from '../store/database.ts'
import { type JobRow, readJob } from '../store/jobs.ts'
import { jobView } from './job-view.ts'

export interface JobRoutesParts {
  readonly database: Database
  readonly jobs: Jobs
  readonly rules: JobRequestRules
}

/** Characters of an `Idempotency-Key`. */
const KEY_LENGTH_MAX = 255

/** The reader of the domain is the judge of these bodies; the schemas describe them. */
export const judgedByReader = () => () => true

const tags = ['jobs']
const path = '/operation/jobs'
const params = Type.Object({ jobId: Type.String() })

/** Registers the routes of jobs, under whatever prefix the instance has. */
export function jobRoutes(app: FastifyInstance, { database, jobs, rules }: JobRoutesParts): void {
  app.post(
    path,
    {
      schema: {
        tags,
        summary: 'Create a job',
        querystring: TargetQuery,
        headers: Type.Object({
          'idempotency-key': Type.Optional(
            Type.String({
              description: 'The same key within 24 hours answers 201 with the job that it made, as it is now',
            }),
          ),
        }),
        body: JobBody,
        response: { 201: JobView },
      },
      validatorCompiler: judgedByReader,
    },
    async (request, reply) => {
      mustExecute(request)
      const asked = parseJobBody(request.body, rules, { resourceType: readTargetQuery(request.query) })
      const { trace } = request
      const job = await jobs.create(request.caller, asked, {
        ...idempotency(request),
        ...(trace !== undefined && { trace }),
      })
      const view = jobView(job)
      return reply
        .status(201)
        .header('location', `${request.url.split('?')[0]}/${view.id}`)
        .send(view)
    },
  )

  app.get(
    `${path}/:jobId`,
    { schema: { tags, summary: 'Read a job', params, response: { 200: JobView } } },
    async request => jobView(await requestedJob(database, request)),
  )

  app.put(
    `${path}/:jobId`,
    {
      schema: {
        tags,
        summary: 'Change a job, pause or resume it',
        params,
        body: JobChangeBody,
        response: { 200: JobView },
      },
      validatorCompiler: judgedByReader,
    },
    async request => {
      mustExecute(request)
      const change = parseJobChange(request.body, rules)
      return jobView(await jobs.change(request.caller, requestedNumber(request), change, request.trace))
    },
  )

  app.delete(
    `${path}/:jobId`,
    { schema: { tags, summary: 'Cancel a job', params, response: { 200: JobView } } },
    async request => {
      mustExecute(request)
      return jobView(await jobs.cancel(request.caller, requestedNumber(request)))
    },
  )
}

/** Refuses a caller whose profile may only read. */
export function mustExecute({ caller }: FastifyRequest): void {
  if (!may(caller.profile, 'execute')) throw new DroverError('forbidden')
}

/** The job that a route names, of the caller's organization; 404 else. */
export async function requestedJob(database: Database, request: FastifyRequest): Promise<JobRow> {
  const job = await readJob(database, request.caller.organization, requestedNumber(request))
  if (!job) throw unknownJob()
  return job
}

function requestedNumber({ params }: FastifyRequest): bigint {
  const number = parseJobId((params as { jobId: string }).jobId)
  if (number === undefined) throw unknownJob()
  return number
}

const unknownJob = () => new DroverError('unknown', [{ name: 'jobId' }])

/** Where jobs and tasks are made, a query parameter that is not known is refused: a misspelt one must not widen a target. */
export function readTargetQuery(query: unknown): unknown {
  const problems: Parameters<typeof readMembers>[3] = []
  const members = readMembers(query, 'query', ['resourceType'], problems)
  if (problems.length > 0) {
    throw refusalOf(problems.map(problem => ({ ...problem, path: problem.path.replace(/^query\./, '') })))
  }
  return members?.resourceType
}

/** What makes a repeat of a request recognisable. */
function idempotency(request: FastifyRequest): { idempotencyKey?: string; requestHash?: string } {
  const key = request.headers['idempotency-key']
  if (key === undefined) return {}
  if (typeof key !== 'string' || key === '' || key.length > KEY_LENGTH_MAX) {
    throw new DroverError(
      'invalidField',
      [{ name: 'Idempotency-Key' }],
      `Invalid field: Idempotency-Key must have 1 to ${KEY_LENGTH_MAX} characters.`,
    )
  }
  const asked = JSON.stringify([request.query, request.body])
  return { idempotencyKey: key, requestHash: createHash('sha256').update(asked).digest('hex') }
}
