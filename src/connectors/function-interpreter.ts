/**
 * Runs one call of a connector function in QuickJS, an interpreter of its own in WebAssembly: no module, no network, no timer, nothing
 * but its arguments. Each call has a fresh world, so that nothing is carried from one device to another.
 */
import { getQuickJS, type QuickJSContext, type QuickJSWASMModule } from 'quickjs-emscripten'
import { parseJson } from '../contract/reading.ts'
import {
  FUNCTION_LIMITS,
  type FunctionCall,
  type FunctionFault,
  type FunctionLimits,
  type FunctionOutcome,
} from '../domain/connector-function.ts'
import { cutText } from '../domain/storable.ts'

const STACK_BYTES = 262_144
const NO_MEMORY = 'it took too much memory'
const LOG_LINES = 100
const LOG_CHARACTERS = 500

/** Runs calls, one after the other. */
export interface FunctionInterpreter {
  /** The outcome is told before the world of the call is cleared away: a call that broke it must not take its word along. */
  run(call: FunctionCall, limits: FunctionLimits, tell: (outcome: FunctionOutcome) => void): void
}

/** Loads the interpreter and runs it once, so that the first call does not pay for that. */
export async function loadInterpreter(): Promise<FunctionInterpreter> {
  const quickJs = await getQuickJS()
  runIn(quickJs, { source: 'function request() {}', part: 'request', arguments: [] }, FUNCTION_LIMITS, () => {})
  return { run: (call, limits, tell) => runIn(quickJs, call, limits, tell) }
}

function runIn(
  quickJs: QuickJSWASMModule,
  call: FunctionCall,
  limits: FunctionLimits,
  tell: (outcome: FunctionOutcome) => void,
): void {
  const runtime = quickJs.newRuntime()
  runtime.setMemoryLimit(limits.memoryBytes)
  runtime.setMaxStackSize(STACK_BYTES)
  const context = runtime.newContext()
  const prepared = evaluate(context, PRELUDE)
  const until = threadMs() + limits.timeMs
  runtime.setInterruptHandler(() => threadMs() > until)
  tell(prepared.ok ? outcomeOf(context, call, limits) : failed('memory', 'there is no room to begin'))
  context.dispose()
  runtime.dispose()
}

/** Time that this thread has worked: what the machine does meanwhile is not counted against a function. */
function threadMs(): number {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1000
}

function outcomeOf(context: QuickJSContext, call: FunctionCall, limits: FunctionLimits): FunctionOutcome {
  const given = JSON.stringify(call.arguments)
  if (given.length > limits.jsonMax)
    return failed('value', `what the function is given is longer than ${limits.jsonMax}`)
  const defined = evaluate(context, call.source, 'function.js')
  if (!defined.ok) {
    return failed(defined.fault === 'threw' ? 'syntax' : defined.fault, defined.description, logOf(context))
  }
  const ask =
    call.part === null
      ? "__drover.names(typeof request === 'function', typeof response === 'function')"
      : `__drover.call(typeof ${call.part} === 'undefined' ? undefined : ${call.part}, ${JSON.stringify(given)})`
  const told = evaluate(context, ask)
  if (!told.ok) return failed(told.fault, told.description, logOf(context))
  return answered(told.text, limits, logOf(context))
}

/** What the prelude says of a call: its value as a JSON text, or what went wrong in it. */
function answered(text: string, limits: FunctionLimits, log: readonly string[]): FunctionOutcome {
  const [kind, content] = [text.slice(0, 1), text.slice(1)]
  if (kind === 'm') return failed('missing', 'the source does not define the function', log)
  if (kind === 't' && content.startsWith('InternalError: out of memory')) return failed('memory', NO_MEMORY, log)
  if (kind === 't') return failed('threw', cutText(content, 2000), log)
  if (kind === 'v') return failed('value', content, log)
  if (content.length > limits.jsonMax)
    return failed('value', `what the function gives is longer than ${limits.jsonMax}`, log)
  const reading = parseJson(content)
  return reading.ok ? { ok: true, value: reading.value, log } : failed('value', reading.reason, log)
}

function failed(fault: FunctionFault, description: string, log: readonly string[] = []): FunctionOutcome {
  return { ok: false, fault, description, log }
}

type Evaluated =
  | { readonly ok: true; readonly text: string }
  | { readonly ok: false; readonly fault: FunctionFault; readonly description: string }

/** Evaluates a script; its value is read as a text. */
function evaluate(context: QuickJSContext, script: string, name = 'drover.js'): Evaluated {
  const result = context.evalCode(script, name)
  if (result.error === undefined) {
    const text = context.typeof(result.value) === 'string' ? context.getString(result.value) : ''
    result.value.dispose()
    return { ok: true, text }
  }
  const told = context.dump(result.error)
  result.error.dispose()
  return { ok: false, ...faultIn(told) }
}

/** The fault in an error as the interpreter tells it; whatever else was thrown counts as thrown. */
function faultIn(error: unknown): { fault: FunctionFault; description: string } {
  const { name, message, stack } = (typeof error === 'object' && error !== null ? error : {}) as Record<string, unknown>
  if (name === 'InternalError' && message === 'interrupted')
    return { fault: 'time', description: 'it ran for too long' }
  if (name === 'InternalError' && message === 'out of memory') {
    return { fault: 'memory', description: NO_MEMORY }
  }
  const words = typeof message === 'string' ? `${String(name)}: ${message}` : (JSON.stringify(error) ?? String(error))
  const where = typeof stack === 'string' ? /function\.js:\d+(:\d+)?/.exec(stack)?.[0] : undefined
  return { fault: 'threw', description: cutText(`${words}${where === undefined ? '' : ` at ${where}`}`, 2000) }
}

function logOf(context: QuickJSContext): string[] {
  const told = evaluate(context, '__drover.log()')
  if (!told.ok || told.text === '') return []
  const lines: unknown = JSON.parse(told.text)
  return Array.isArray(lines) ? lines.filter(line => typeof line === 'string') : []
}

/**
 * Runs before the source, with the originals of what a source could replace. Its words begin with one letter: o and the JSON of the
 * value, m where the function is missing, t and what was thrown, v and what is wrong with the value.
 */
const PRELUDE = `(() => {
  const { stringify, parse } = JSON
  const { isArray } = Array
  const text = value => { try { return typeof value === 'string' ? value : stringify(value) ?? String(value) } catch { return '?' } }
  const lines = []
  const log = (...parts) => { if (lines.length < ${LOG_LINES}) lines.push(parts.map(text).join(' ').slice(0, ${LOG_CHARACTERS})) }
  globalThis.console = Object.freeze({ log, info: log, warn: log, error: log, debug: log })
  Object.defineProperty(globalThis, '__drover', { value: Object.freeze({
    log: () => stringify(lines),
    names: (request, response) => 'o' + stringify([...(request ? ['request'] : []), ...(response ? ['response'] : [])]),
    call(called, given) {
      if (typeof called !== 'function') return 'm'
      let value
      try { value = called(...parse(given)) } catch (error) {
        const isError = error !== null && typeof error === 'object' && 'message' in error
        const where = isError ? /function\\.js:\\d+(:\\d+)?/.exec(String(error.stack))?.[0] : undefined
        return 't' + (isError ? String(error.name) + ': ' + String(error.message) : text(error)) + (where ? ' at ' + where : '')
      }
      if (value !== null && typeof value === 'object' && typeof value.then === 'function') return 'vit gives a promise; it must give its value at once'
      try { return 'o' + (stringify(value) ?? 'null') } catch (error) { return 'vwhat it gives is no JSON: ' + String(error.message) }
    },
  }) })
})()`
