/**
 * The pretend devices of a run as a process of its own, one fleet for each organization: it tells where they listen, connects them
 * when a line comes in, and then everything that happens at a device, and how late it is itself. One JSON object a line.
 */
import { createInterface } from 'node:readline'
import type { FleetEvent } from '../../src/simulator/device-run.ts'
import { openFleet } from '../../src/simulator/fleet.ts'
import type { FleetRequest } from '../../src/simulator/options.ts'
import { watchLag } from './lag.ts'

/** What happened at a device, as short as it goes over a pipe: what, device, operation, when, launched when, kind, what became of it, how long that took. */
export type ToldEvent = [
  FleetEvent['what'],
  string,
  string,
  number,
  number,
  FleetEvent['kind'] | null,
  FleetEvent['delivery'] | null,
  number,
]

const TELL_EVERY_MS = 100
const requests = JSON.parse(process.argv[2] ?? '[]') as FleetRequest[]
let untold: ToldEvent[] = []

function tell(line: Record<string, unknown>): void {
  process.stdout.write(`${JSON.stringify(line)}\n`)
}

function note({ what, deviceId, operationId, at, launchedAt, kind, delivery, tookMs }: FleetEvent): void {
  untold.push([what, deviceId, operationId, at, launchedAt ?? 0, kind ?? null, delivery ?? null, tookMs ?? 0])
}

function tellEvents(): void {
  if (untold.length === 0) return
  tell({ events: untold })
  untold = []
}

const fleets = await Promise.all(requests.map(request => openFleet(request, note)))
tell({ listening: fleets.map(({ url, devices }) => ({ url, devices })) })
const timer = setInterval(tellEvents, TELL_EVERY_MS)
const watchNoMore = watchLag(late => tell({ late }))

async function end(): Promise<void> {
  clearInterval(timer)
  watchNoMore()
  await Promise.all(fleets.map(fleet => fleet.stop()))
  tellEvents()
  tell({ counters: fleets.map(fleet => fleet.counters) })
  lines.close()
}

const lines = createInterface({ input: process.stdin })
lines.once('line', () => {
  Promise.all(fleets.map(fleet => fleet.connect())).then(
    () => tell({ connected: true }),
    (error: unknown) => tell({ failed: String(error) }),
  )
})
// The end of the input is the end of the run, however that came.
lines.once('close', () => void end())
