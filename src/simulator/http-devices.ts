/**
 * All HTTP devices of a fleet behind one server: `POST /devices/{id}/operation/request`. Those of the synchronous flow answer 201 with
 * the result, the others 201 as an acknowledgement and post the rest later.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { readDeviceRequest } from '../contract/device.ts'
import { parseJson, type Reading, refuse } from '../contract/reading.ts'
import type { Receive, Sender } from './device-run.ts'
import type { FleetDevice } from './devices.ts'
import type { Ledger } from './ledger.ts'
import type { FleetOptions } from './options.ts'
import type { Service } from './service.ts'

/** The listening server of a fleet's HTTP devices. */
export interface HttpDevices {
  /** Such as `http://127.0.0.1:40123`. */
  url: string
  /** Switches devices on; one that is not answers 404. */
  connect(devices: readonly FleetDevice[]): void
  stop(): Promise<void>
}

const BODY_BYTES_MAX = 1_000_000
const SILENT_EXCHANGE_MS = 15 * 60_000

/** Listens. Rejects when the port is taken. */
export async function listenForRequests(
  options: Pick<FleetOptions, 'listenHost' | 'listenPort'>,
  fleet: { ledger: Ledger; receive: Receive; service: Service },
): Promise<HttpDevices> {
  const flows = new Map<string, 'http-sync' | 'http-async'>()

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<unknown> {
    const deviceId = deviceOf(request.url ?? '')
    const flow = deviceId === undefined ? undefined : flows.get(deviceId)
    if (deviceId === undefined || flow === undefined) return answer(response, 404, { reason: 'no such device' })
    if (request.method !== 'POST') return answer(response, 405, { reason: 'only POST' })
    const reading = await readRequest(request)
    if (!reading.ok || (reading.value.deviceId !== '' && reading.value.deviceId !== deviceId)) {
      fleet.ledger.counters.unreadable++
      return answer(response, 400, reading.ok ? { reason: 'the request names another device' } : reading)
    }
    const own = flow === 'http-sync' ? 'final' : 'acknowledgement'
    const send: Sender = async (message, kind) => {
      // A device whose caller has hung up, and a copy sent twice, take the way of a later answer.
      if (kind === own && isOpen(response) && (await answer(response, 201, message))) return 'delivered'
      return kind === 'acknowledgement' ? 'undelivered' : fleet.service.post(deviceId, message)
    }
    return fleet.receive(deviceId, flow, reading.value, send)
  }

  const server = createServer({ keepAliveTimeout: 60_000 }, (request, response) => {
    serve(request, response).catch(() => response.destroy())
  })
  server.setTimeout(SILENT_EXCHANGE_MS)
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen({ host: options.listenHost, port: options.listenPort, backlog: 4096 }, () => resolve())
  })
  const { address, port, family } = server.address() as AddressInfo
  return {
    url: `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`,
    connect(devices) {
      for (const { id, flow } of devices) if (flow === 'http-sync' || flow === 'http-async') flows.set(id, flow)
    },
    async stop() {
      const closed = new Promise<void>(resolve => server.close(() => resolve()))
      server.closeAllConnections()
      await closed
    },
  }
}

function deviceOf(path: string): string | undefined {
  const match = /^\/devices\/([^/?]+)\/operation\/request\/?(?:\?.*)?$/.exec(path)
  if (match?.[1] === undefined) return undefined
  try {
    return decodeURIComponent(match[1])
  } catch {
    return undefined
  }
}

async function readRequest(request: IncomingMessage): Promise<ReturnType<typeof readDeviceRequest>> {
  const body = await readBody(request)
  const parsed: Reading<unknown> = body.ok ? parseJson(body.value) : body
  return parsed.ok ? readDeviceRequest(parsed.value) : parsed
}

async function readBody(request: IncomingMessage): Promise<Reading<Buffer>> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of request) {
    bytes += chunk.length
    if (bytes > BODY_BYTES_MAX) return refuse('', 'the body is too long')
    chunks.push(chunk)
  }
  return { ok: true, value: Buffer.concat(chunks) }
}

function isOpen(response: ServerResponse): boolean {
  return !response.headersSent && !response.destroyed
}

/** Writes an answer; resolves with whether it left before the caller hung up. */
async function answer(response: ServerResponse, statusCode: number, body: object): Promise<boolean> {
  return new Promise(resolve => {
    response.once('close', () => resolve(response.writableFinished))
    response.writeHead(statusCode, { 'content-type': 'application/json' })
    response.end(JSON.stringify(body), () => resolve(true))
  })
}
