/** Everything that is measured, in the order of the page. */

import { asleep } from './asleep.ts'
import { backup } from './backup.ts'
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

/** All of them; `entities` bounds their size, for trying them out. */
export function measurements(entities = 1_000_000): readonly Measurement[] {
  const operations = Math.min(50_000, entities)
  const fleet = Math.min(5_000, entities)
  const many = Math.min(10_000, entities)
  return [
    lifecycle(operations),
    peers(operations),
    devices('devices-mqtt', 'mqtt', 4_000, fleet),
    devices('devices-http', 'http-async', 2_000, fleet),
    devices('devices-pull', 'pull', 1_500, fleet),
    crowd('crowd-mqtt', 'mqtt', many),
    crowd('crowd-pull', 'pull', many),
    million(entities),
    fair(entities),
    asleep(entities),
    search(entities * 5),
    nodes(operations),
    start(entities),
    backup(entities),
  ]
}
