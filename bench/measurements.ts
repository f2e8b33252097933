/** Everything that is measured, in the order of the page. */

import { asleep } from './asleep.ts'
import { crowd } from './crowd.ts'
import { devices } from './devices.ts'
import { fair } from './fair.ts'
import type { Measurement } from './figures.ts'
import { lifecycle } from './lifecycle.ts'
import { million } from './million.ts'
import { nodes } from './nodes.ts'
import { peers } from './peers.ts'
import { search } from './search.ts'
import { start } from './start.ts'

/** All of them; `entities` makes the large ones smaller, for trying them out. */
export function measurements(entities = 1_000_000): readonly Measurement[] {
  return [
    lifecycle(),
    peers(),
    devices('devices-mqtt', 'mqtt', 4_000),
    devices('devices-http', 'http-async', 2_000),
    devices('devices-pull', 'pull', 1_500),
    crowd('crowd-mqtt', 'mqtt'),
    crowd('crowd-pull', 'pull'),
    million(entities),
    fair(entities),
    asleep(entities),
    search(entities * 5),
    nodes(),
    start(entities),
  ]
}
