/** A wire in a thread of its own, for thousands of connections: they are accepted however busy the thread of the test is. */
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads'

/** Draws it; `cut` resolves with how many connections there were. */
export async function drawWireInThread(to: string) {
  const worker = new Worker(import.meta.filename, { workerData: to })
  const say = (word: string) =>
    new Promise<unknown>((resolve, reject) => {
      worker.once('message', resolve).once('error', reject)
      worker.postMessage(word)
    })
  return {
    url: String(await say('url')),
    cut: async () => Number(await say('cut')),
    close: () => worker.terminate(),
  }
}

if (!isMainThread && typeof workerData === 'string' && parentPort) {
  const port = parentPort
  const { drawWire } = await import('./wire.ts')
  const wire = await drawWire(workerData)
  port.on('message', word => {
    const { count } = wire
    if (word === 'cut') wire.cut()
    port.postMessage(word === 'cut' ? count : wire.url)
  })
}
