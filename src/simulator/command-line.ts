/**
 * The options of `drover simulate`, as commander declares and reads them: the command line and the process of the simulator have the same.
 * Their defaults and bounds are the fleet's. The key is no option: others can see those.
 */
import { type Command, InvalidArgumentError, Option } from 'commander'
import { type Latency, parseLatency } from './latency.ts'
import { completeOptions, FLEET_DEFAULTS as D, type FleetRequest, type FlowWeights, parseFlows } from './options.ts'

/** What the process does beside running the fleet. */
export interface ProcessOptions {
  /** The organization that `list` writes into its devices. */
  organization: string
  /** Print what provisions the devices, and end. */
  list: boolean
  /** Connect the devices only when a line comes in. */
  hold: boolean
  /** End when the standard input closes. */
  exitWithParent: boolean
  /** Print the counters every so many seconds; 0 never. */
  statsEvery: number
}

interface CommandLine extends ProcessOptions {
  url?: string
  mqtt?: string
  devices?: number
  flows?: FlowWeights
  prefix?: string
  latency?: Latency
  fail?: number
  silent?: number
  duplicate?: number
  late?: number
  lateBy?: number
  reorder?: number
  parts?: number
  seed?: number
  listenHost?: string
  listenPort?: number
  pullWait?: number
  pullConcurrency?: number
}

/** What was asked for, by the options of a command and the key in `DROVER_API_KEY`. Throws a RangeError in plain words on what is out of bounds. */
export function readFleet(
  options: object,
  env: Readonly<Record<string, string | undefined>>,
): { request: FleetRequest; settings: ProcessOptions } {
  const line = options as CommandLine
  const { organization, list, hold, exitWithParent, statsEvery, lateBy, pullWait, ...same } = line
  // A list is made without asking anybody.
  const apiKey = env.DROVER_API_KEY || (list ? 'none' : '')
  if (apiKey === '')
    throw new RangeError('DROVER_API_KEY must hold a key of the organization, which serves every device')
  if (!(statsEvery >= 0 && statsEvery <= 86_400)) throw new RangeError('stats-every must be 0 to 86400 seconds')
  const request: FleetRequest = {
    ...same,
    apiKey,
    ...(lateBy === undefined ? {} : { lateByMs: lateBy }),
    ...(pullWait === undefined ? {} : { pullWaitS: pullWait }),
  }
  completeOptions(request)
  return { request, settings: { organization, list, hold, exitWithParent, statsEvery } }
}

/** Adds the options to a command. */
export function declareFleet(command: Command): Command {
  return command
    .addOption(new Option('--url <url>', `the service's address (default: DROVER_URL, or ${D.url})`).env('DROVER_URL'))
    .option('--mqtt <url>', `the broker's address (default: ${D.mqtt})`)
    .option('--devices <n>', `how many (default: ${D.devices})`, Number)
    .option(
      '--flows <flow=weight,...>',
      'of mqtt, http-sync, http-async and pull (default: one of each)',
      inWords(parseFlows),
    )
    .option('--prefix <text>', `devices are called <prefix>-<n> (default: ${D.prefix})`)
    .option('--latency <ms>', '200, 50..500 or exp:200 (default: 50..500)', inWords(parseLatency))
    .option('--fail <rate>', `operations that fail, 0 to 1 (default: ${D.fail})`, Number)
    .option('--silent <rate>', `requests that are never answered, 0 to 1 (default: ${D.silent})`, Number)
    .option('--duplicate <rate>', `final responses sent twice, 0 to 1 (default: ${D.duplicate})`, Number)
    .option('--late <rate>', `final responses that come late, 0 to 1 (default: ${D.late})`, Number)
    .option('--late-by <ms>', `how late (default: ${D.lateByMs})`, Number)
    .option(
      '--reorder <rate>',
      `operations that say their end before their parts, 0 to 1 (default: ${D.reorder})`,
      Number,
    )
    .option('--parts <n>', `partial responses before the final one (default: ${D.parts})`, Number)
    .option('--seed <n>', `decides all that looks like chance (default: ${D.seed})`, Number)
    .option('--listen-host <address>', `where the HTTP devices listen (default: ${D.listenHost})`)
    .option('--listen-port <port>', 'and on which port (default: 0, a free one)', Number)
    .option('--pull-wait <s>', `how long a question may be held, 1 to 60 (default: ${D.pullWaitS})`, Number)
    .option('--pull-concurrency <n>', `pull devices asking at once (default: ${D.pullConcurrency})`, Number)
    .option('--organization <name>', 'the organization of the devices, for --list', 'drover')
    .option('--list', 'print the body that provisions the devices in bulk, and end', false)
    .option('--hold', 'connect the devices only when a line comes in on the standard input', false)
    .option('--exit-with-parent', 'end when the standard input closes', false)
    .option('--stats-every <s>', 'print the counters this often; 0 never', Number, 0)
}

/** Commander names the option and shows what is wrong with it. */
function inWords<T>(parse: (text: string) => T): (text: string) => T {
  return text => {
    try {
      return parse(text)
    } catch (error) {
      throw new InvalidArgumentError(error instanceof Error ? error.message : String(error))
    }
  }
}
