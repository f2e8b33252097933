/**
 * The registry of every error a client can meet: its code, its words and what kind of refusal it is. Knows nothing of HTTP;
 * north maps the kind to a status.
 */

/** What kind of refusal an error is. North answers each kind with one status. */
export type ErrorKind =
  | 'invalid'
  | 'unauthorized'
  | 'forbidden'
  | 'unknown'
  | 'tooLarge'
  | 'notJson'
  | 'tooMany'
  | 'stopping'
  | 'fault'

interface ErrorEntry {
  readonly code: string
  readonly kind: ErrorKind
  readonly message: string
}

/** Codes and words; existing clients match on several of them. Serves: Errors. */
export const ERRORS = {
  fault: { code: '0x01', kind: 'fault', message: 'The service failed. Its log has the details under the request id.' },
  unauthorized: { code: '0x04', kind: 'unauthorized', message: 'Unauthorized.' },
  forbidden: { code: '0x05', kind: 'forbidden', message: 'The profile does not permit this.' },
  requiredField: { code: '0x010000', kind: 'invalid', message: 'Required field.' },
  invalidField: { code: '0x010001', kind: 'invalid', message: 'Invalid field.' },
  forbiddenField: { code: '0x010003', kind: 'invalid', message: 'Forbidden field.' },
  unknown: { code: '0x010005', kind: 'unknown', message: 'Not found.' },
  entityNotExists: { code: '0x010006', kind: 'unknown', message: 'Entity not exists.' },
  organizationNotExists: { code: '0x010015', kind: 'unknown', message: 'Organization not exists.' },
  duplicated: { code: '0x010114', kind: 'invalid', message: 'Entity duplicated.' },
  tooLarge: { code: '0x010200', kind: 'tooLarge', message: 'The body is larger than allowed.' },
  notJson: { code: '0x010201', kind: 'notJson', message: 'The body must be JSON.' },
  malformed: { code: '0x010202', kind: 'invalid', message: 'The body cannot be read.' },
  tooMany: { code: '0x010203', kind: 'tooMany', message: 'Too many requests.' },
  stopping: { code: '0x010204', kind: 'stopping', message: 'The service is stopping.' },
  notReady: { code: '0x010205', kind: 'stopping', message: 'The service is not ready.' },
  unavailable: { code: '0x010206', kind: 'stopping', message: 'The service cannot take this now. Ask again.' },
  noTarget: { code: '0x020002', kind: 'invalid', message: 'No valid or allowed entity in the target.' },
  invalidParameters: {
    code: '0x020003',
    kind: 'invalid',
    message: 'The parameters violate the schema of the operation type.',
  },
  noOperationType: {
    code: '0x020004',
    kind: 'invalid',
    message: 'The organization has no operation type of this name.',
  },
  operationsFailed: { code: '0x020005', kind: 'invalid', message: 'Operations failed or were cancelled.' },
  bundleMissing: { code: '0x020006', kind: 'invalid', message: 'The bundle is missing.' },
  targetUnresolvable: {
    code: '0x020007',
    kind: 'invalid',
    message: 'The target of the job could not be resolved.',
  },
  jobTransition: { code: '0x020010', kind: 'invalid', message: 'Job state transition error.' },
  taskTransition: { code: '0x020011', kind: 'invalid', message: 'Task state transition error.' },
  invalidFilter: { code: '0x050010', kind: 'invalid', message: 'The filter is not valid.' },
  unknownFilterField: { code: '0x050014', kind: 'invalid', message: 'Field in filter unknown' },
  searchTooExpensive: {
    code: '0x050020',
    kind: 'invalid',
    message: 'The search takes longer than allowed; narrow its filter.',
  },
} as const satisfies Record<string, ErrorEntry>

/** Name of an error in the registry. */
export type ErrorName = keyof typeof ERRORS

/** Errors on whose words existing clients match: they are told as they stand, and what is particular stands in the context. */
type KnownWords =
  | 'requiredField'
  | 'forbiddenField'
  | 'entityNotExists'
  | 'organizationNotExists'
  | 'duplicated'
  | 'jobTransition'
  | 'unknownFilterField'

/** One offending field, by the path the client used, and its value where it helps. */
export interface ErrorContext {
  readonly name: string
  readonly value?: unknown
}

/**
 * A refusal that a client is told. Everything else that is thrown is a fault of ours. `retryAfterMs` says when a refusal of kind
 * `tooMany` or `stopping` is worth another try.
 */
export class DroverError extends Error {
  override readonly name = 'DroverError'
  readonly entry: ErrorEntry
  readonly context: readonly ErrorContext[]
  readonly retryAfterMs: number | undefined

  constructor(name: ErrorName, context?: readonly ErrorContext[])
  constructor(
    name: Exclude<ErrorName, KnownWords>,
    context?: readonly ErrorContext[],
    message?: string,
    retryAfterMs?: number,
  )
  constructor(name: ErrorName, context: readonly ErrorContext[] = [], message?: string, retryAfterMs?: number) {
    super(message ?? ERRORS[name].message)
    this.entry = ERRORS[name]
    this.context = context
    this.retryAfterMs = retryAfterMs
  }
}
