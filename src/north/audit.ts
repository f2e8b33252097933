/** The route of the audit log: a page of it, or all of it as CSV. Who manages users reads it, each in its own organization. */
import type { FastifyInstance } from 'fastify'
import { Type } from 'typebox'
import './request-caller.ts'
import { type AuditLine, AuditPage, AuditQuery } from '../contract/audit.ts'
import { readInstant } from '../domain/instants.ts'
import type { Problem } from '../domain/problems.ts'
import { refusalOf } from '../domain/refusal.ts'
import { type AuditEntry, type AuditSelection, listAudit, streamAudit } from '../store/audit.ts'
import type { Database } from '../store/database.ts'
import { sendCsv, wantedType } from './csv.ts'
import { judgedByReader } from './jobs.ts'
import { pageView, readListingPage } from './listing.ts'

const COLUMNS = ['date', 'user', 'method', 'path', 'address', 'status', 'errorCode', 'requestId'] as const

function lineOf({ at, user, method, path, address, status, errorCode, requestId }: AuditEntry): AuditLine {
  const known = { ...(user !== null && { user }), ...(errorCode !== null && { errorCode }) }
  return { date: at.toISOString(), method, path, address, status, requestId, ...known }
}

function readSelection(query: Readonly<Record<string, unknown>>, organization: number): AuditSelection {
  const problems: Problem[] = []
  const instant = (name: 'from' | 'to') => {
    const text = query[name]
    if (text === undefined) return undefined
    const read = typeof text === 'string' ? readInstant(text) : undefined
    if (read) return new Date(read.at)
    problems.push({ path: name, message: 'must be a timestamp such as 2030-01-02T03:04:05Z', kind: 'invalid' })
    return undefined
  }
  const user = typeof query.user === 'string' ? query.user : undefined
  const selection = { organization, user, from: instant('from'), to: instant('to') }
  if (problems.length > 0) throw refusalOf(problems)
  return selection
}

async function* csvRows(batches: AsyncGenerator<AuditEntry[], void, void>) {
  for await (const batch of batches) {
    yield batch
      .map(lineOf)
      .map(line => COLUMNS.map(column => (line[column] === undefined ? null : String(line[column]))))
  }
}

export function auditRoutes(app: FastifyInstance, { database }: { readonly database: Database }): void {
  app.get(
    '/audit',
    {
      config: { access: 'manageUsers' },
      schema: {
        tags: ['audit'],
        summary: 'A page of the audit log, newest first, or all of it as CSV',
        querystring: AuditQuery,
        response: { 200: AuditPage, 204: Type.Null({ description: 'No line on this page' }) },
      },
      validatorCompiler: judgedByReader,
    },
    async (request, reply) => {
      const query = request.query as Readonly<Record<string, unknown>>
      const selection = readSelection(query, request.caller.organization)
      const type = wantedType(request)
      if (type !== 'application/json')
        return await sendCsv(reply, type, COLUMNS, csvRows(streamAudit(database, selection)))
      const page = readListingPage(query)
      const asked = { offset: (page.number - 1) * page.size, size: page.size }
      const { entries, count } = await listAudit(database, selection, asked)
      if (entries.length === 0) return reply.status(204).send()
      return { page: pageView(page, count), audit: entries.map(lineOf) }
    },
  )
}
