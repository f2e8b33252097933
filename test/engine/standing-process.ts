/**
 * A process that is in the launch gate, as a claim is or as a pause is, says so, and stays there for as long as it runs: a test stops it
 * with a signal. Its connection alone would wait for it for ten minutes. The way of a reader stands still by itself, in the middle of an
 * answer that is larger than what lies between it and the server.
 */
import { writeSync } from 'node:fs'
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import { pino } from 'pino'
import { openDatabase } from '../../src/store/database.ts'
import { enterLaunchGate, holdLaunchGate } from '../../src/store/launch-gate.ts'

const [url, way] = process.argv.slice(2)
const database = openDatabase({ url: url!, idleInTransactionTimeoutMs: 600_000, log: pino({ level: 'silent' }) })
await database.transaction(async tx => {
  await (way === 'claim' ? enterLaunchGate(tx) : holdLaunchGate(tx))
  if (way === 'read') {
    void tx.executeSql(`select repeat('x', 1000) from generate_series(1, 1000000)`)
    await nextTurn()
    writeSync(1, 'in the gate\n')
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)
  }
  process.stdout.write('in the gate\n')
  for (;;) {
    await tx.executeSql('select 1')
    await sleep(20)
  }
})
