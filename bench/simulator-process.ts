/**
 * The simulator as the product's own process runs it, which also says how long the service took to take the messages of its devices:
 * asked with a line, it tells of those since it was last asked.
 */
import { createInterface } from 'node:readline'
import { Command } from 'commander'
import { declareFleet, readFleet } from '../src/simulator/command-line.ts'
import { openFleet } from '../src/simulator/fleet.ts'
import { quantile } from './figures.ts'

const { request } = readFleet(declareFleet(new Command()).parse().opts(), process.env)
let took: number[] = []
const fleet = await openFleet(request, ({ what, delivery, tookMs }) => {
  if (what === 'answered' && delivery === 'delivered' && tookMs !== undefined) took.push(tookMs)
})
const { url, devices } = fleet
const say = (line: Record<string, unknown>) => process.stdout.write(`${JSON.stringify(line)}\n`)
say({ listening: { url, devices: devices.length } })

const lines = createInterface({ input: process.stdin })
lines.on('line', line => {
  if (line === 'go') {
    fleet.connect().then(
      () => say({ ready: { url, devices: devices.length } }),
      (error: unknown) => say({ failed: { reason: String(error) } }),
    )
    return
  }
  // What was asked is said again: earlier answers are still there to be read.
  say({ answers: { p50: quantile(took, 0.5), p99: quantile(took, 0.99), count: took.length }, asked: line })
  took = []
})
const stop = async () => {
  lines.close()
  process.stdin.destroy()
  await fleet.stop()
}
lines.once('close', stop)
process.once('SIGTERM', stop)
