/**
 * What a fleet is asked to be: how many devices, how they are reached, and how well they behave. One table of defaults and bounds.
 */
import { fitsTopic } from '../contract/device-addresses.ts'
import type { Latency } from './latency.ts'

/** How a device and the service exchange messages. Serves: Device-side exchange flows. */
export const FLOWS = ['mqtt', 'http-sync', 'http-async', 'pull'] as const
export type Flow = (typeof FLOWS)[number]

/** How many devices of each flow, in proportion; whole numbers. */
export type FlowWeights = Partial<Record<Flow, number>>

/** How a device answers: rates are shares of the operations, from 0 to 1. */
export interface Behaviour {
  /** Everything that looks like chance follows from it, with the device and the operation. */
  seed: number
  /** From the request to the final response. */
  latency: Latency
  /** Operations that end with ERROR_PROCESSING at one of their steps. */
  fail: number
  /** Requests that get no answer: half are never heard, half are done without a word. */
  silent: number
  /** Final responses that are sent twice. */
  duplicate: number
  /** Final responses that come `lateByMs` later than they should. */
  late: number
  lateByMs: number
  /** Operations whose parts and final response come in the opposite order. */
  reorder: number
  /** Partial responses before the final one, at most one less than there are steps. */
  parts: number
}

/** A fleet in full. */
export interface FleetOptions extends Behaviour {
  /** The service's address, such as `http://127.0.0.1:8080`. */
  url: string
  /** The broker's address, such as `mqtt://127.0.0.1:1883`; needed by MQTT devices only. */
  mqtt: string
  /** A key of the organization; it serves every device. */
  apiKey: string
  devices: number
  /** Dealt out by index. */
  flows: FlowWeights
  /** Devices are called `<prefix>-<n>`, from 0; it is their tag too. */
  prefix: string
  /** Where the HTTP devices listen. Port 0 takes a free one. */
  listenHost: string
  listenPort: number
  /** The longest that a pull device lets the service hold its question, in seconds. */
  pullWaitS: number
  /** Pull devices that ask at the same time; the others take turns. */
  pullConcurrency: number
  /** Connections over which responses are posted at the same time: each device would have its own. */
  postConnections: number
  /** How long a device tries to deliver a response to a service that is away. */
  deliverForMs: number
  /** How long all devices may take to come up. */
  readyWithinMs: number
  /** Operations that the fleet remembers, the oldest are forgotten first. */
  remember: number
}

/** What holds where nothing is said. */
export const FLEET_DEFAULTS: Omit<FleetOptions, 'apiKey'> = {
  url: 'http://127.0.0.1:8080',
  mqtt: 'mqtt://127.0.0.1:1883',
  devices: 1000,
  flows: { mqtt: 1, 'http-sync': 1, 'http-async': 1, pull: 1 },
  prefix: 'sim',
  listenHost: '127.0.0.1',
  listenPort: 0,
  seed: 1,
  latency: { shape: 'uniform', minMs: 50, maxMs: 500 },
  fail: 0,
  silent: 0,
  duplicate: 0,
  late: 0,
  lateByMs: 60_000,
  reorder: 0,
  parts: 2,
  pullWaitS: 20,
  pullConcurrency: 5000,
  postConnections: 1000,
  deliverForMs: 15 * 60_000,
  readyWithinMs: 120_000,
  remember: 200_000,
}

/** What must be said; all else has a default. */
export type FleetRequest = Partial<FleetOptions> & Pick<FleetOptions, 'apiKey'>

/** Fills in the defaults. Throws a RangeError naming the option that is out of bounds. */
export function completeOptions(request: FleetRequest): FleetOptions {
  const given = Object.fromEntries(Object.entries(request).filter(([, value]) => value !== undefined))
  const options: FleetOptions = { ...FLEET_DEFAULTS, ...request, ...given }
  const whole: [keyof FleetOptions, number, number][] = [
    ['devices', 1, 1_000_000],
    ['listenPort', 0, 65_535],
    ['seed', 0, Number.MAX_SAFE_INTEGER],
    ['lateByMs', 0, 24 * 3_600_000],
    ['parts', 0, 100],
    ['pullWaitS', 1, 60],
    ['pullConcurrency', 1, 50_000],
    ['postConnections', 1, 10_000],
    ['deliverForMs', 0, 24 * 3_600_000],
    ['readyWithinMs', 1, 24 * 3_600_000],
    ['remember', 1, 10_000_000],
  ]
  for (const [name, least, most] of whole) bound(name, options[name], least, most, true)
  for (const name of ['fail', 'silent', 'duplicate', 'late', 'reorder'] as const)
    bound(name, options[name], 0, 1, false)
  for (const flow of Object.keys(options.flows)) bound(`flows.${flow}`, options.flows[asFlow(flow)], 0, 1000, true)
  if (flowPattern(options.flows).length === 0)
    throw new RangeError('flows must name at least one flow with a weight above 0')
  if (!fitsTopic(options.prefix) || options.prefix.length > 200)
    throw new RangeError('prefix must have 1 to 200 characters, none of them /, + or #')
  if (options.apiKey === '') throw new RangeError('apiKey must not be empty')
  for (const name of ['url', 'mqtt'] as const)
    if (!URL.canParse(options[name])) throw new RangeError(`${name} must be an address, not ${options[name]}`)
  return options
}

/** Reads `mqtt=2,pull=1`. Throws a RangeError naming what is wrong. */
export function parseFlows(text: string): FlowWeights {
  const flows: FlowWeights = {}
  for (const entry of text.split(',')) {
    const [flow = '', weight = '1', ...rest] = entry.trim().split('=')
    if (rest.length > 0 || !/^\d{1,4}$/.test(weight))
      throw new RangeError(`flows must read like mqtt=2,pull=1, not ${text}`)
    flows[asFlow(flow)] = Number(weight)
  }
  return flows
}

/** The flows in the order in which they are dealt out, each as often as its weight. */
export function flowPattern(flows: FlowWeights): Flow[] {
  return FLOWS.flatMap(flow => Array<Flow>(flows[flow] ?? 0).fill(flow))
}

function asFlow(word: string): Flow {
  const flow = FLOWS.find(known => known === word)
  if (flow === undefined) throw new RangeError(`flows must be of ${FLOWS.join(', ')}, not ${word}`)
  return flow
}

function bound(name: string, value: unknown, least: number, most: number, whole: boolean): void {
  if (typeof value !== 'number' || !(value >= least && value <= most) || (whole && !Number.isInteger(value)))
    throw new RangeError(
      `${name} must be a ${whole ? 'whole number' : 'number'} from ${least} to ${most}, not ${value}`,
    )
}
