/** Everything that is measured, in the order of the page. */
import { crowd } from './crowd.ts'
import { devices } from './devices.ts'
import type { Measurement } from './figures.ts'
import { lifecycle } from './lifecycle.ts'
import { million } from './million.ts'
import { start } from './start.ts'

export function measurements(entities?: number): readonly Measurement[] {
  return [
    lifecycle(),
    devices('devices-mqtt', 'mqtt', 4_000),
    devices('devices-http', 'http-async', 2_000),
    devices('devices-pull', 'pull', 1_500),
    crowd('crowd-mqtt', 'mqtt'),
    crowd('crowd-pull', 'pull'),
    million(entities),
    start(),
  ]
}
