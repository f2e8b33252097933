/** The options that say when a job runs, how fast, with which limits and who is told: whatever it does, and on whatever. */
import type { Command } from 'commander'
import type { JobRequestSchema } from '../../../contract/client/client.ts'
import type { Run } from '../../frame/command.ts'
import { localZone, momentOf, spanOf, windowOf } from '../../reading/times.ts'
import { each, percent, wholeNumber, words } from '../../reading/values.ts'

/** Adds the options. */
export function declareCourse(command: Command): void {
  command
    .option('--start <time>', 'when it starts: 15m from now, 22:00, 2026-03-02T22:00')
    .option('--stop <time>', 'when it gives up: 2h after its start, 06:00, 2026-03-03T06:00')
    .option(
      '--window <days time>',
      'only then: "22:00-06:00" or "MON-FRI 22:00-06:00"; may be given more than once',
      each,
    )
    .option('--timezone <zone>', "whose clock the window is on (default: this machine's zone)")
    .option('--spread <percent>', 'spread the launches over this much of the time there is', percent)
    .option('--by-cell <factor>', 'spread by radio cell: 0 cell after cell, 100 across all cells', percent)
    .option('--warn-rate <n>', 'warn where more than so many a second would be launched', Number)
    .option('--ack-timeout <time>', 'how long a device may take to accept, such as 30s')
    .option('--timeout <time>', 'how long an operation may take, such as 10m')
    .option('--retries <n>', 'how often an operation is tried again', wholeNumber)
    .option('--retries-delay <time>', 'how long before the next try')
    .option('--retry-on <results>', 'results that are tried again, such as ERROR_PROCESSING', words)
    .option('--callback <url>', 'where the started and the finished notification are sent')
    .option('--notify', 'tell the user by mail and trap')
    .option('--notes <text>', 'a note that stays with the job')
}

/** The request with what these options say in place of its own. Fails with a usage error on what cannot be read. */
export function withCourse(run: Run, request: JobRequestSchema): JobRequestSchema {
  const { callback, notify, notes } = run.options
  const asked = readSchedule(run)
  // Each option says one thing: how fast it warns takes the spreading away from nobody.
  const scattering = scatteringOf(request.schedule?.scattering, asked.scattering)
  const schedule = { ...request.schedule, ...asked, ...(Object.keys(scattering).length > 0 && { scattering }) }
  const operationParameters = { ...request.operationParameters, ...readTimeouts(run) }
  return {
    ...request,
    ...(Object.keys(schedule).length > 0 && { schedule }),
    ...(Object.keys(operationParameters).length > 0 && { operationParameters }),
    ...(typeof callback === 'string' && { callback }),
    ...(notify === true && { notify: true }),
    ...(typeof notes === 'string' && { userNotes: notes }),
  }
}

type Scattering = NonNullable<NonNullable<JobRequestSchema['schedule']>['scattering']>

/** The rate may stand with the strategy in the request: there it would go with it, or differ from what is asked. */
function scatteringOf(before: Scattering = {}, asked: Scattering = {}): Scattering {
  const { warningMaxRate, ...strategy } = { ...before.strategy, ...asked.strategy }
  return {
    ...before,
    ...(warningMaxRate !== undefined && { warningMaxRate }),
    ...asked,
    ...('field' in strategy && { strategy }),
  } as Scattering
}

function readSchedule({ options, out }: Run): NonNullable<JobRequestSchema['schedule']> {
  const { start, stop, timezone, byCell, spread, warnRate } = options
  const now = new Date()
  const moment = (option: string, value: unknown) =>
    typeof value === 'string' ? momentOf(option, value, now, out.utc) : undefined
  const [startAt, stopAt] = [moment('--start', start), moment('--stop', stop)]
  const zone = typeof timezone === 'string' ? timezone : out.utc ? 'UTC' : localZone()
  const strategy =
    typeof byCell === 'number' ? { field: 'subscription.collected.cellInfo' as const, factor: byCell } : undefined
  const scattering = {
    ...(typeof spread === 'number' && { maxSpread: spread }),
    ...(strategy && { strategy }),
    ...(typeof warnRate === 'number' && { warningMaxRate: warnRate }),
  }
  return {
    ...(startAt && { start: startAt }),
    ...(stopAt && { stop: stopAt }),
    ...(Array.isArray(options.window) && { window: windowOf(options.window, zone) }),
    ...(Object.keys(scattering).length > 0 && { scattering }),
  }
}

function readTimeouts({ options }: Run): NonNullable<JobRequestSchema['operationParameters']> {
  const span = (option: string, value: unknown) => (typeof value === 'string' ? spanOf(option, value) : undefined)
  const ackTimeout = span('--ack-timeout', options.ackTimeout)
  const timeout = span('--timeout', options.timeout)
  const retriesDelay = span('--retries-delay', options.retriesDelay)
  return {
    ...(ackTimeout !== undefined && { ackTimeout }),
    ...(timeout !== undefined && { timeout }),
    ...(typeof options.retries === 'number' && { retries: options.retries }),
    ...(retriesDelay !== undefined && { retriesDelay }),
    // The service is the judge of these words.
    ...(Array.isArray(options.retryOn) && { retryResultList: options.retryOn as RetryResults }),
  }
}

type RetryResults = NonNullable<NonNullable<JobRequestSchema['operationParameters']>['retryResultList']>
