/**
 * How requests are held to the schemas of the contract, and how a violation is told: the code of the registry and the path of the
 * field as the client wrote it. It changes no body; only the texts of a query string are read as what the schema wants.
 */
import { Ajv, type ErrorObject } from 'ajv'
import formats from 'ajv-formats'
import type { FastifyInstance } from 'fastify'
import { DroverError, type ErrorContext } from '../domain/errors.ts'

/** At most this many unknown members are named; a body full of them needs no longer answer. */
const namedMax = 20
/** Values longer than this are not repeated to the client. */
const repeatedMax = 100
/** The value of such a field is never repeated. */
const secret = /password|secret|token|key|2fa/i

function makeAjv(coerceTypes: boolean): Ajv {
  const ajv = new Ajv({
    coerceTypes,
    removeAdditional: false,
    useDefaults: true,
    // The first violation is enough; to collect all of a hostile body costs without bound.
    allErrors: false,
    // The error then brings the schema and the value it is about.
    verbose: true,
    strictTypes: false,
    strictTuples: false,
  })
  formats.default(ajv)
  return ajv
}

/** `/job/request/days/0` as the client would write it: `job.request.days[0]`. */
function fieldPath(instancePath: string): string {
  return instancePath
    .split('/')
    .slice(1)
    .map(segment => segment.replaceAll('~1', '/').replaceAll('~0', '~'))
    .reduce((path, segment) => (/^\d+$/.test(segment) ? `${path}[${segment}]` : member(path, segment)), '')
}

function member(path: string, name: string): string {
  return path === '' ? name : `${path}.${name}`
}

/** How close an error is to what the client got wrong: of the branches of a union, the one that was followed furthest. */
function depthOf({ keyword, instancePath }: ErrorObject): number {
  return instancePath.split('/').length + (keyword === 'additionalProperties' || keyword === 'required' ? 1 : 0)
}

function unknownMembers({ data, parentSchema, params }: ErrorObject): string[] {
  if (typeof data !== 'object' || data === null) return [String(params.additionalProperty)]
  const known = Object.keys((parentSchema?.properties as object | undefined) ?? {})
  const patterns = Object.keys((parentSchema?.patternProperties as object | undefined) ?? {})
  return Object.keys(data).filter(name => !known.includes(name) && !patterns.some(each => new RegExp(each).test(name)))
}

function valueContext(name: string, value: unknown): ErrorContext {
  const scalar = ['string', 'number', 'boolean'].includes(typeof value)
  return scalar && String(value).length <= repeatedMax && !secret.test(name) ? { name, value } : { name }
}

function reasonOf({ keyword, params, message }: ErrorObject): string {
  const allowed = keyword === 'enum' ? (params.allowedValues as unknown[]).join(', ') : ''
  if (allowed !== '' && allowed.length <= 300) return `must be one of ${allowed}`
  if (keyword === 'const') return `must be ${JSON.stringify(params.allowedValue)}`
  return message ?? 'is not valid'
}

/** What a client is told of violations of a schema; `whole` names the part of the request, where no field can be named. */
export function violation(errors: readonly ErrorObject[], whole: string): DroverError {
  const [error] = errors.toSorted((a, b) => depthOf(b) - depthOf(a))
  if (!error) return new DroverError('invalidField', [{ name: whole }])
  const path = fieldPath(error.instancePath)
  if (error.keyword === 'additionalProperties' || error.keyword === 'unevaluatedProperties') {
    const names = unknownMembers(error).slice(0, namedMax)
    return new DroverError(
      'forbiddenField',
      names.map(name => ({ name: member(path, name) })),
    )
  }
  if (error.keyword === 'required') {
    return new DroverError('requiredField', [{ name: member(path, String(error.params.missingProperty)) }])
  }
  if (path === '' && (error.data === undefined || error.data === null)) {
    return new DroverError('requiredField', [{ name: whole }])
  }
  const name = path === '' ? whole : path
  return new DroverError('invalidField', [valueContext(name, error.data)], `Invalid field: ${name} ${reasonOf(error)}.`)
}

/** Gives a server its judges. Answers are written as they are: a schema of an answer documents it and drops nothing. */
export function judgeBySchema(server: FastifyInstance): void {
  const exact = makeAjv(false)
  const coercing = makeAjv(true)
  server.setValidatorCompiler(({ schema, httpPart }) =>
    (httpPart === 'body' ? exact : coercing).compile(schema as object),
  )
  server.setSerializerCompiler(() => data => JSON.stringify(data))
  server.setSchemaErrorFormatter((errors, part) =>
    violation(errors as ErrorObject[], part === 'querystring' ? 'query' : part),
  )
}
