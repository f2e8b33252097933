/** The audit log as it travels. */
import { type Static, Type } from 'typebox'
import { PageView } from './operation.ts'

/** Which lines are wanted; the header `Accept: text/plain` or `text/csv` asks for all of them as CSV. */
export const AuditQuery = Type.Object({
  start: Type.Optional(Type.Integer({ minimum: 0, description: 'Page number; absent, 0 and 1 mean the first' })),
  size: Type.Optional(Type.Integer({ minimum: 1, maximum: 1_000, default: 10 })),
  user: Type.Optional(Type.String({ description: 'Email of who did it' })),
  from: Type.Optional(Type.String({ description: 'ISO-8601 timestamp; lines from then on' })),
  to: Type.Optional(Type.String({ description: 'ISO-8601 timestamp; lines before it' })),
})

/** Who did what, when, from where, with which result. */
export const AuditLine = Type.Object({
  date: Type.String({ description: 'ISO-8601 timestamp' }),
  user: Type.Optional(Type.String()),
  method: Type.String(),
  path: Type.String(),
  address: Type.String(),
  status: Type.Integer({ description: 'The status answered' }),
  errorCode: Type.Optional(Type.String({ description: 'The code answered, where it was a refusal' })),
  requestId: Type.String(),
})
export type AuditLine = Static<typeof AuditLine>

export const AuditPage = Type.Object({ page: PageView, audit: Type.Array(AuditLine) })
export type AuditPage = Static<typeof AuditPage>
