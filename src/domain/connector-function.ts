/**
 * The words of connector functions: JavaScript of an organization that turns operations into what a device understands, and what a
 * device says into responses. Refuses to run any. Serves: What the service does (5).
 */

/** Characters of a source. */
export const FUNCTION_SOURCE_MAX = 65_536
export const FUNCTION_NAME_MAX = 50
/** Functions of one organization. */
export const FUNCTIONS_MAX = 200
/** Versions that are kept of one function, the newest ones. */
export const FUNCTION_VERSIONS_MAX = 100
/** Responses that one message of a device may become. */
export const FUNCTION_RESPONSES_MAX = 100

/** Words that stand behind the id of a device in the device interface already, and so are no routes. */
const TAKEN_ROUTES = ['operation', 'collect']

/** Whether a text can be the last segment of `POST /south/v80/devices/{id}/{route}`. */
export function isFunctionRoute(route: string): boolean {
  return /^[A-Za-z0-9][\w.~-]{0,49}$/.test(route) && !TAKEN_ROUTES.includes(route)
}

/** What may be bounded in a call, in milliseconds, bytes and characters. */
export interface FunctionLimits {
  /** how long the function may keep a processor */
  readonly timeMs: number
  readonly memoryBytes: number
  /** characters of what it is given and of what it gives, as JSON */
  readonly jsonMax: number
}

export const FUNCTION_LIMITS: FunctionLimits = { timeMs: 100, memoryBytes: 16 * 1_048_576, jsonMax: 524_288 }

/** The two functions that a source may define. */
export type FunctionPart = 'request' | 'response'

/** One call of one of the functions that a source defines. */
export interface FunctionCall {
  readonly source: string
  /** null runs the source alone, and gives the names of the functions that it defines */
  readonly part: FunctionPart | null
  /** as JSON gives them */
  readonly arguments: readonly unknown[]
}

/**
 * Why a call gave nothing: the source is no script, the function is not defined, it threw, it took too long or too much memory, what it
 * gave is no JSON or too much of it, or there was no room to run it.
 */
export const FUNCTION_FAULTS = ['syntax', 'missing', 'threw', 'time', 'memory', 'value', 'busy'] as const
export type FunctionFault = (typeof FUNCTION_FAULTS)[number]

/** What came of a call. `log` holds what the function wrote with `console.log`. */
export type FunctionOutcome =
  | { readonly ok: true; readonly value: unknown; readonly log: readonly string[] }
  | { readonly ok: false; readonly fault: FunctionFault; readonly description: string; readonly log: readonly string[] }
