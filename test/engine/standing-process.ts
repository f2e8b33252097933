/**
 * A process that is in the launch gate, as a claim is or as a pause is, says so, and stays there for as long as it runs: a test stops it
 * with a signal. Its connection alone would wait for it for ten minutes.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { pino } from 'pino'
import { openDatabase } from '../../src/store/database.ts'
import { enterLaunchGate, holdLaunchGate } from '../../src/store/launch-gate.ts'

const [url, way] = process.argv.slice(2)
const database = openDatabase({ url: url!, idleInTransactionTimeoutMs: 600_000, log: pino({ level: 'silent' }) })
await database.transaction(async tx => {
  await (way === 'claim' ? enterLaunchGate(tx) : holdLaunchGate(tx))
  process.stdout.write('in the gate\n')
  for (;;) {
    await tx.executeSql('select 1')
    await sleep(20)
  }
})
