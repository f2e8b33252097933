/** One engine as a process of its own for `nodes`: says `ready`, works until its input ends, then says how often each request was sent. */
import { once } from 'node:events'
import { pino } from 'pino'
import { openDatabase } from '../src/store/database.ts'
import { benchEngine } from './bench-engine.ts'

const [url = '', node = '1'] = process.argv.slice(2)
const database = openDatabase({ url, log: pino({ level: 'silent' }), max: 20 })
const { engine, requests } = benchEngine(database, Number(node))
await engine.start(true)
process.stdout.write(`${JSON.stringify({ ready: true })}\n`)
process.stdin.resume()
await once(process.stdin, 'end')
await engine.stop()
await database.close()
process.stdout.write(`${JSON.stringify({ sent: [...requests] })}\n`)
