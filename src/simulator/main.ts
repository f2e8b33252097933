/**
 * The simulator as a process: brings a fleet up, says so on one line of JSON, and ends cleanly. Its output is for programs: one JSON
 * object a line, with `listening`, `ready`, `counters`, `stopped` or `failed` as its one member.
 *
 * Started with `--max-semi-space-size=16`, as `npm run simulate` does, ten thousand devices stay within 500 MB.
 */
import { createInterface } from 'node:readline'
import { Command } from 'commander'
import { declareFleet, type ProcessOptions, readFleet } from './command-line.ts'
import { type FleetDevice, fleetDevices, provisioningOf } from './devices.ts'
import { openFleet } from './fleet.ts'
import { completeOptions, type FleetRequest } from './options.ts'

/** The exit code of what was not asked for rightly, as that of every command. */
const USAGE = 2

try {
  const line = declareFleet(new Command('simulate'))
    .description('Plays a fleet of devices that speak to the service as real ones do. Prints one JSON object a line.')
    .exitOverride(({ exitCode }) => process.exit(exitCode === 0 ? 0 : USAGE))
    .parse()
  const { request, settings } = readFleet(line.opts(), process.env)
  if (settings.list) say(listDevices(request, settings.organization))
  else await run(request, settings)
} catch (error) {
  say({ failed: { reason: error instanceof Error ? error.message : String(error) } })
  process.exitCode = error instanceof RangeError ? USAGE : 1
}

async function run(request: FleetRequest, settings: ProcessOptions): Promise<void> {
  const fleet = await openFleet(request)
  const ended = new Promise<void>(resolve => {
    process.once('SIGTERM', resolve)
    process.once('SIGINT', resolve)
    if (settings.exitWithParent) process.stdin.once('end', resolve).once('close', resolve).resume()
  })
  // Even while devices are still connecting: an end that comes early is an end.
  const stopped = ended.then(() => fleet.stop())
  const { url, devices } = fleet
  let stats: NodeJS.Timeout | undefined
  try {
    say({ listening: { url, devices: devices.length } })
    if (settings.hold) await Promise.race([nextLine(), ended])
    if (await fleet.connect()) say({ ready: { url, devices: devices.length, flows: countFlows(devices) } })
    if (settings.statsEvery > 0)
      stats = setInterval(() => say({ counters: fleet.counters }), settings.statsEvery * 1000)
    await stopped
  } finally {
    clearInterval(stats)
    await fleet.stop()
    process.stdin.destroy()
  }
  say({ stopped: fleet.counters })
}

function say(line: Record<string, unknown>): void {
  process.stdout.write(`${JSON.stringify(line)}\n`)
}

function nextLine(): Promise<void> {
  const lines = createInterface({ input: process.stdin })
  return new Promise(resolve => {
    lines.once('line', () => resolve())
  })
}

function countFlows(devices: readonly FleetDevice[]): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const { flow } of devices) counts[flow] = (counts[flow] ?? 0) + 1
  return counts
}

function listDevices(request: FleetRequest, organization: string): { entities: Record<string, unknown>[] } {
  const options = completeOptions(request)
  const devices = fleetDevices(options, `http://${options.listenHost}:${options.listenPort}`)
  if (options.listenPort === 0 && devices.some(({ flow }) => flow.startsWith('http')))
    throw new RangeError('a list of HTTP devices needs a fixed --listen-port, which is part of their addresses')
  return { entities: devices.map(device => provisioningOf(device, organization)) }
}
