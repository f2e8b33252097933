// A device in Node, with nothing but Node itself. It asks the service for work over HTTP, or is reached by the service:
//
//   node examples/device.mjs pull                  the device asks, with a long poll
//   node examples/device.mjs push 9000             the service posts to http://127.0.0.1:9000/, the device's provisioned address
//
// Settings, from the environment: DROVER_URL (http://127.0.0.1:8080), DEVICE_ID, DROVER_API_KEY (the device's key or a user's).
import { createServer } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'

const { DROVER_URL = 'http://127.0.0.1:8080', DEVICE_ID, DROVER_API_KEY } = process.env
const [way = 'pull', port = '9000'] = process.argv.slice(2)
if (!DEVICE_ID || !DROVER_API_KEY) throw new Error('set DEVICE_ID and DROVER_API_KEY')

const base = `${DROVER_URL}/south/v80/devices/${encodeURIComponent(DEVICE_ID)}/operation`
const headers = { 'X-ApiKey': DROVER_API_KEY, 'content-type': 'application/json' }

// What this device can do: the steps of each operation. A real one does the work where `work` pauses.
const operations = {
  REBOOT_EQUIPMENT: ['BEGINREBOOT', 'ENDREBOOT'],
  UPDATE: ['BEGINUPDATE', 'DOWNLOADFILE', 'BEGININSTALL', 'ENDINSTALL', 'ENDUPDATE'],
}

// An operation that comes again is answered again, never done again; but one that failed is, where a later timestamp says that it is retried.
const done = new Map()

async function work(request) {
  const { id, timestamp } = request
  const last = done.get(id)
  if (!last || (last.failed && timestamp > last.timestamp)) {
    if (done.size >= 1000) done.delete(done.keys().next().value)
    done.set(id, { timestamp, failed: false, result: execute(request) })
  }
  const own = done.get(id)
  const result = await own.result
  own.failed = result.resultCode !== 'SUCCESSFUL'
  await post(request, result)
}

async function execute(request) {
  const steps = operations[request.name]
  if (!steps) return { resultCode: 'NOT_SUPPORTED', resultDescription: `unknown operation ${request.name}`, steps: [] }
  for (const name of steps.slice(0, -1)) {
    await pause(100)
    await post(request, { steps: [{ name, timestamp: Date.now(), result: 'SUCCESSFUL' }] })
  }
  await pause(100)
  const last = { name: steps.at(-1), timestamp: Date.now(), result: 'SUCCESSFUL' }
  return { resultCode: 'SUCCESSFUL', resultDescription: 'done', steps: [last] }
}

function message({ id, name }, members) {
  const response = { id, deviceId: DEVICE_ID, timestamp: Date.now(), name, ...members }
  return JSON.stringify({ version: '8.0', operation: { response } })
}

// Tries until the service has taken the message; what it refuses (4xx) it will not take later either.
async function post(request, members) {
  for (let pauseMs = 500; ; pauseMs = Math.min(pauseMs * 2, 30_000)) {
    try {
      const answer = await fetch(`${base}/response`, { method: 'POST', headers, body: message(request, members) })
      await answer.arrayBuffer()
      if (answer.ok) return
      if (answer.status < 500 && answer.status !== 429) return console.error(`refused with ${answer.status}`)
    } catch (error) {
      console.error(`cannot reach the service: ${error.message}`)
    }
    await pause(pauseMs)
  }
}

async function pull() {
  for (let pauseMs = 500; ; ) {
    try {
      const answer = await fetch(`${base}/pending?wait=30`, { headers, signal: AbortSignal.timeout(60_000) })
      const text = await answer.text()
      if (answer.status === 200) await work(JSON.parse(text).operation.request)
      if (answer.ok) {
        pauseMs = 500
        continue
      }
      console.error(`pending was answered ${answer.status}: ${text}`)
    } catch (error) {
      console.error(`cannot ask the service: ${error.message}`)
    }
    await pause(pauseMs)
    pauseMs = Math.min(pauseMs * 2, 30_000)
  }
}

function push() {
  const server = createServer(async (incoming, answer) => {
    const chunks = []
    for await (const chunk of incoming) chunks.push(chunk)
    try {
      const { request } = JSON.parse(Buffer.concat(chunks)).operation
      // 201 without a resultCode acknowledges; the parts and the result follow. With a resultCode it would be the end already.
      answer.writeHead(201, { 'content-type': 'application/json' }).end(message(request, { steps: [] }))
      await work(request)
    } catch (error) {
      if (!answer.headersSent) answer.writeHead(400).end(`${error.message}\n`)
    }
  })
  server.listen(Number(port), '127.0.0.1', () => console.log(`listening on http://127.0.0.1:${server.address().port}/`))
}

if (way === 'push') push()
else await pull()
