/** What cases of the interface ask and read over and over, as a client writes it. It knows addresses and shapes, and judges little. */
import { expect } from 'vitest'
import type { JobView } from '../../../src/contract/job.ts'
import type { OperationView } from '../../../src/contract/operation.ts'
import type { TaskView } from '../../../src/contract/task.ts'
import type { House } from '../house.ts'

export const JOBS = '/north/v80/operation/jobs'
export const TASKS = '/north/v80/operation/tasks'
export const TYPES = '/north/v80/operationTypes/provision/organizations/drover'
export const CATALOG = '/north/v80/operationTypes/catalog'
export const ENTITIES = '/north/v80/provision/organizations/drover/entities'
export const USERS = '/north/v80/provision/users'
export const LOGIN = '/north/v80/provision/users/login'

type Members = Readonly<Record<string, unknown>>

interface Refusal {
  readonly errors: readonly {
    readonly code: string
    readonly message: string
    readonly context?: readonly { readonly name: string; readonly value?: unknown }[]
  }[]
}

/** A job request on entities, of a type that every organization has. */
export const on = (entities: readonly string[], members: Members = {}) => ({
  name: 'REBOOT_EQUIPMENT',
  target: { append: { entities } },
  ...members,
})

/** The body that makes a job. */
export const job = (request: Members) => ({ job: { request } })

/** The body of a task that runs a request. */
export const task = (request: Members, members: Members = {}) => ({
  task: {
    name: 'rounds',
    schedule: { repeating: { period: { each: 1, unit: 'HOURS' } } },
    job: { request },
    ...members,
  },
})

/** A type from scratch. */
export const type = (members: Members) => ({
  name: 'PROBE',
  applicableTo: ['entity.device'],
  parameters: { type: 'object' },
  steps: [],
  ...members,
})

/** An instant so far ahead that no test sees it. */
export const FAR = '2100-01-01T00:00:00.000Z'

export function asking({ call, operationOf, south }: House) {
  async function refusal(method: string, path: string, body?: unknown, headers: Record<string, string> = {}) {
    const answer = await call<Refusal>(method, path, body, headers)
    expect(answer.status, JSON.stringify(answer.body)).toBeGreaterThanOrEqual(400)
    expect(answer.headers.get('content-type')).toMatch(/^application\/json/)
    const [error] = answer.body.errors
    return {
      status: answer.status,
      code: error!.code,
      message: error!.message,
      fields: (error!.context ?? []).map(({ name }) => name),
      headers: answer.headers,
    }
  }

  async function readJob(id: string): Promise<JobView> {
    const { status, body } = await call<JobView>('GET', `${JOBS}/${id}`)
    expect(status, JSON.stringify(body)).toBe(200)
    return body
  }

  return {
    refusal,

    /** Asks for what is refused with 400, and holds the refusal to its code and to the field it names. */
    async refuses(path: string, body: unknown, code: string, field: string, method = 'POST'): Promise<void> {
      const told = await refusal(method, path, body)
      expect([told.status, told.code], JSON.stringify(told)).toEqual([400, code])
      expect(told.fields, told.message).toContain(field)
    },

    /** Makes a job and reads it as its creation answered. */
    async make(request: Members, query = ''): Promise<JobView> {
      const { status, body } = await call<JobView>('POST', `${JOBS}${query}`, job(request))
      expect(status, JSON.stringify(body)).toBe(201)
      return body
    },

    readJob,

    /** Changes a job. */
    put: (id: string, request: Members) => call<JobView>('PUT', `${JOBS}/${id}`, job(request)),

    cancel: (id: string) => call<JobView>('DELETE', `${JOBS}/${id}`),

    /** A job once its status is one of these. */
    async untilJob(id: string, ...statuses: string[]): Promise<JobView> {
      for (;;) {
        const read = await readJob(id)
        if (statuses.includes(read.report.summary.status)) return read
      }
    },

    /** All operations of a job, on one page. */
    async operations(id: string): Promise<OperationView[]> {
      const { body } = await call<{ operations: OperationView[] } | undefined>(
        'GET',
        `${JOBS}/${id}/operations?size=1000`,
      )
      return body?.operations ?? []
    },

    /** The one operation of a job. */
    async operation(id: string): Promise<OperationView> {
      return (await operationOf(id))!
    },

    /** Makes a task and reads it as its creation answered. */
    async makeTask(request: Members, members: Members = {}): Promise<TaskView> {
      const { status, body } = await call<{ task: TaskView }>('POST', TASKS, task(request, members))
      expect(status, JSON.stringify(body)).toBe(201)
      return body.task
    },

    async jobsOf(taskId: string): Promise<JobView[]> {
      const { body } = await call<{ jobs: JobView[] } | undefined>('GET', `${TASKS}/${taskId}/jobs?size=1000`)
      return body?.jobs ?? []
    },

    /** Makes a type of the organization. */
    async makeType(members: Members): Promise<void> {
      const { status, body } = await call('POST', TYPES, type(members))
      expect(status, JSON.stringify(body)).toBe(201)
    },

    /** What a device that asks is handed; undefined where there is nothing. */
    async pending(device: string, key: string): Promise<Handed | undefined> {
      const { body } = await south<{ operation: { request: Handed } } | undefined>(device, key, 'operation/pending')
      return body?.operation.request
    },

    /** A user of the organization, and the header that shows who it is. */
    async user(email: string, profile: string, organization = 'drover'): Promise<Record<string, string>> {
      const password = 'a-pass-word'
      const user = { email, password, name: 'N', surname: 'S', profile, domain: organization, workgroup: organization }
      const made = await call('POST', USERS, { user })
      expect(made.status, JSON.stringify(made.body)).toBe(201)
      const login = await call<{ user: { jwt: string } }>('POST', LOGIN, { email, password })
      return { authorization: `Bearer ${login.body.user.jwt}` }
    },
  }
}

/** A request as a device reads it. */
export interface Handed {
  readonly id: string
  readonly name: string
  readonly deviceId: string
  readonly entityId?: string
  readonly timestamp: number
  readonly parameters: readonly { readonly name: string; readonly type: string; readonly value: unknown }[]
}
