/** A thread that runs connector functions, so that none of them can hold up the service. It answers one call at a time. */
import { parentPort } from 'node:worker_threads'
import type { FunctionCall, FunctionLimits } from '../domain/connector-function.ts'
import { loadInterpreter } from './function-interpreter.ts'

const interpreter = await loadInterpreter()
parentPort!.on('message', ({ call, limits }: { call: FunctionCall; limits: FunctionLimits }) => {
  interpreter.run(call, limits, outcome => parentPort!.postMessage({ outcome }))
  parentPort!.postMessage({ ready: true })
})
parentPort!.postMessage({ ready: true })
