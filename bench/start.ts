/** How long the service takes from its start to its first answer that it is ready, on an empty folder and after a kill -9. */

import { once } from 'node:events'
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { type Child, startChild } from '../src/cli/child.ts'
import type { Measurement } from './figures.ts'
import { source } from './processes.ts'

export function start(): Measurement {
  return {
    name: 'start',
    about: 'from the start of the process, its embedded database included, to its word that it is ready',
    targets: { 'empty, s': { most: 3 }, 'after a clean stop, s': { most: 5 } },
    async run() {
      const folder = await mkdtemp(path.join(tmpdir(), 'drover-bench-'))
      // Started by root, the database runs as somebody else, who must be able to enter.
      await chmod(folder, 0o711)
      try {
        const empty = await ready(folder)
        await empty.child.end(10_000)
        const again = await ready(folder)
        again.child.process.kill('SIGKILL')
        await once(again.child.process, 'close')
        const killed = await ready(folder)
        await killed.child.end(10_000)
        return { 'empty, s': empty.s, 'after a clean stop, s': again.s, 'after kill -9, s': killed.s }
      } finally {
        await rm(folder, { recursive: true, force: true })
      }
    },
  }
}

async function ready(folder: string): Promise<{ s: number; child: Child }> {
  const startedAt = performance.now()
  const child = startChild(source('main.ts'), [], {
    DROVER_DATA_DIR: path.join(folder, 'data'),
    DROVER_HOST: '127.0.0.1',
    DROVER_PORT: '0',
    DROVER_MQTT_PORT: '0',
    DROVER_LOG_LEVEL: 'info',
  })
  await child.line(line => line.msg === 'ready', 60_000)
  return { s: (performance.now() - startedAt) / 1000, child }
}
