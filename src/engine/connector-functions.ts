/**
 * The use cases of connector functions: written, changed, tried on a sample, and asked what a device's own message means. Refuses to
 * know the interpreter, which is handed to it. Serves: What the service does (5).
 */
import type { Caller } from '../domain/caller.ts'
import {
  FUNCTION_VERSIONS_MAX,
  FUNCTIONS_MAX,
  type FunctionCall,
  type FunctionOutcome,
  isFunctionRoute,
} from '../domain/connector-function.ts'
import { DroverError } from '../domain/errors.ts'
import { functionOf } from '../domain/flow.ts'
import { invalidField } from '../domain/refusal.ts'
import {
  addVersion,
  type ConnectorFunctionRow,
  type FunctionVersionRow,
  insertFunction,
  listFunctions,
  lockFunction,
  readFlowOfDevice,
  readFunction,
  readFunctionOfRoute,
  readVersions,
  removeFunction,
  trimVersions,
  updateFunction,
} from '../store/connector-functions.ts'
import { type Database, type Queryable, sqlState } from '../store/database.ts'
import type { Clock } from './clock.ts'

/** Runs one call of an organization in the interpreter; never rejects. */
export type FunctionRunner = (organization: number, call: FunctionCall) => Promise<FunctionOutcome>

/** What an author gives; undefined is left out, null takes away. */
export interface FunctionMembers {
  readonly description?: string | null | undefined
  readonly route?: string | null | undefined
  readonly source?: string | undefined
  /** an earlier version that shall run again, instead of a source */
  readonly version?: number | undefined
}

/** A message of a device in its own format. */
export interface OwnMessage {
  /** `http` with its route, or `mqtt` */
  readonly via: 'http' | 'mqtt'
  readonly route?: string
  readonly contentType?: string
  readonly body: string
  /** the body, where it is JSON */
  readonly json?: unknown
}

export interface MessagingDevice {
  readonly organization: number
  readonly deviceId: string
  readonly partition: number
  readonly entity: bigint
}

export interface ConnectorFunctions {
  list(organization: number): Promise<ConnectorFunctionRow[]>
  /** Throws `unknown` where there is none, or none of that version. */
  read(organization: number, name: string, version?: number): Promise<ConnectorFunctionRow>
  versions(organization: number, name: string): Promise<FunctionVersionRow[]>
  /** Throws `duplicated` for a name or a route that is taken, `invalidField` for a source that is no script. */
  create(
    caller: Caller,
    name: string,
    members: FunctionMembers & { readonly source: string },
  ): Promise<ConnectorFunctionRow>
  /** A changed source makes a version, which runs at once; `version` lets an earlier one run again. */
  change(caller: Caller, name: string, members: FunctionMembers): Promise<ConnectorFunctionRow>
  remove(caller: Caller, name: string): Promise<void>
  /** What a function makes of given arguments; nothing is sent. With `source` it need not exist. */
  dryRun(
    caller: Caller,
    name: string,
    asked: Omit<FunctionCall, 'source'> & {
      readonly source?: string | undefined
      readonly version?: number | undefined
    },
  ): Promise<FunctionOutcome>
  /** The source that runs; undefined where there is no such function. At most seconds old. */
  sourceOf(organization: number, name: string): Promise<string | undefined>
  /**
   * What the function of a device makes of a message: by its route, or by the flow of the device. Undefined where no function reads it.
   * Throws `invalidField` where the function fails on it, `tooMany` where there is no room to run it.
   */
  respond(device: MessagingDevice, message: OwnMessage): Promise<unknown>
}

export interface ConnectorFunctionsParts {
  readonly database: Database
  readonly clock: Clock
  readonly run: FunctionRunner
  /** how long a source that was read is kept */
  readonly keptMs?: number
  readonly keptMax?: number
}

const UNIQUE_VIOLATION = '23505'

const duplicated = (name: 'name' | 'route', value: unknown) => new DroverError('duplicated', [{ name, value }])
const unknown = (name: string, value: unknown) => new DroverError('unknown', [{ name, value }])

export function createConnectorFunctions(parts: ConnectorFunctionsParts): ConnectorFunctions {
  const { database, clock, run, keptMs = 3_000, keptMax = 5_000 } = parts
  const kept = new Map<string, { readonly source: Promise<string | undefined>; readonly until: number }>()
  const now = () => clock.now()

  function keep(key: string, find: () => Promise<ConnectorFunctionRow | undefined>): Promise<string | undefined> {
    const known = kept.get(key)
    if (known !== undefined && now().getTime() < known.until) return known.source
    const source = find().then(found => found?.source)
    kept.delete(key)
    kept.set(key, { source, until: now().getTime() + keptMs })
    if (kept.size > keptMax) kept.delete(kept.keys().next().value!)
    // A failed look-up must not be remembered.
    source.catch(() => kept.delete(key))
    return source
  }

  const sourceOf = (organization: number, name: string) =>
    keep(`${organization} name ${name}`, () => readFunction(database, organization, name))

  const sourceOfRoute = (organization: number, route: string) =>
    keep(`${organization} route ${route}`, () => readFunctionOfRoute(database, organization, route))

  async function read(organization: number, name: string, version?: number): Promise<ConnectorFunctionRow> {
    const found = await readFunction(database, organization, name)
    if (!found) throw unknown('name', name)
    if (version === undefined || version === found.version) return found
    const [earlier] = await readVersions(database, organization, name, version)
    if (!earlier) throw unknown('version', version)
    return { ...found, version, source: earlier.source }
  }

  /** A source is judged by running it alone: it must be a script within the limits that defines one of the two functions. */
  async function judge(organization: number, source: string): Promise<void> {
    const outcome = await run(organization, { source, part: null, arguments: [] })
    if (!outcome.ok && outcome.fault === 'busy') throw new DroverError('tooMany')
    if (!outcome.ok) throw invalidField('source', outcome.description)
    if (Array.isArray(outcome.value) && outcome.value.length > 0) return
    throw invalidField('source', 'defines neither a function request nor a function response')
  }

  function judgeRoute(route: string | null | undefined): void {
    if (route === undefined || route === null || isFunctionRoute(route)) return
    throw invalidField('route', 'must be one segment of a path that is not the service’s own')
  }

  async function refuseTakenRoute(
    db: Queryable,
    organization: number,
    name: string,
    route: string | null,
  ): Promise<void> {
    const other = route === null ? undefined : await readFunctionOfRoute(db, organization, route)
    if (other && other.name !== name) throw duplicated('route', route)
  }

  return {
    list: organization => listFunctions(database, organization),
    read,
    sourceOf,

    async versions(organization, name) {
      const found = await readVersions(database, organization, name)
      if (found.length === 0) throw unknown('name', name)
      return found
    },

    async create({ organization, email: user }, name, { description = null, route = null, source }) {
      judgeRoute(route)
      await judge(organization, source)
      if ((await listFunctions(database, organization)).length >= FUNCTIONS_MAX) {
        const message = `An organization has at most ${FUNCTIONS_MAX} connector functions.`
        throw new DroverError('invalidField', [{ name: 'name', value: name }], message)
      }
      await database.transaction(async tx => {
        await refuseTakenRoute(tx, organization, name, route)
        if (!(await insertFunction(tx, organization, { name, description, route }, now()))) {
          throw duplicated('name', name)
        }
        await addVersion(tx, organization, name, { source, user }, now())
      })
      return await read(organization, name)
    },

    async change({ organization, email: user }, name, { description, route, source, version }) {
      judgeRoute(route)
      if (source !== undefined && version !== undefined) {
        const message = 'Give a source, which makes a version, or the version that shall run, not both.'
        throw new DroverError('invalidField', [{ name: 'version', value: version }], message)
      }
      if (source !== undefined) await judge(organization, source)
      await database.transaction(async tx => {
        const before = await lockFunction(tx, organization, name)
        if (!before) throw unknown('name', name)
        const members = {
          name,
          description: description === undefined ? before.description : description,
          route: route === undefined ? before.route : route,
        }
        await refuseTakenRoute(tx, organization, name, members.route)
        if (version !== undefined && (await readVersions(tx, organization, name, version)).length === 0) {
          throw unknown('version', version)
        }
        const running =
          source === undefined || source === before.source
            ? (version ?? before.version)
            : await addVersion(tx, organization, name, { source, user }, now())
        await updateFunction(tx, organization, { ...members, version: running }, now()).catch((error: unknown) => {
          // Another function took the route at the same moment.
          throw sqlState(error) === UNIQUE_VIOLATION ? duplicated('route', members.route) : error
        })
        await trimVersions(tx, organization, name, running, FUNCTION_VERSIONS_MAX)
      })
      kept.clear()
      return await read(organization, name)
    },

    async remove({ organization }, name) {
      if (!(await removeFunction(database, organization, name))) throw unknown('name', name)
      kept.clear()
    },

    async dryRun({ organization }, name, { source, version, ...call }) {
      return await run(organization, { ...call, source: source ?? (await read(organization, name, version)).source })
    },

    async respond({ organization, deviceId: id, partition, entity }, message) {
      const { route } = message
      const named =
        route === undefined ? functionOf(await readFlowOfDevice(database, { partition, entity })) : undefined
      if (route === undefined && named === undefined) return undefined
      const source = await (route === undefined ? sourceOf(organization, named!) : sourceOfRoute(organization, route))
      if (source === undefined) return undefined
      const outcome = await run(organization, { source, part: 'response', arguments: [message, { id }] })
      if (outcome.ok) return outcome.value
      if (outcome.fault === 'busy') throw new DroverError('tooMany')
      throw invalidField('body', `makes its connector function fail: ${outcome.description}`)
    },
  }
}
