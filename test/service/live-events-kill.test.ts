import { afterAll, expect, test } from 'vitest'
import type { JobEvent } from '../../src/contract/live-events.ts'
import { createTestDatabase } from '../database.ts'
import { createClient } from './client.ts'
import { type EventReader, readEvents } from './event-stream.ts'
import { bringUpFleet } from './fleet.ts'
import { createJob, readJob, updateRequest } from './jobs.ts'
import { dataFolder, launchService } from './service-process.ts'

const DEVICES = 200
const apiKey = 'a-key-of-both-nodes'
const { url: databaseUrl, close } = await createTestDatabase({ migrated: false })
afterAll(close)
const folder = await dataFolder()

const jobsIn = ({ events }: EventReader) =>
  events.filter(({ event }) => event === 'job').map(({ data }) => data as unknown as JobEvent)

test('who loses the node of its stream goes on at another and sees the end; a node that stops ends its streams', async () => {
  const nodes = Array.from({ length: 2 }, () =>
    launchService(folder, {
      DATABASE_URL: databaseUrl,
      DROVER_DATABASE_CONNECTIONS_MAX: '8',
      DROVER_SECRET: 'a-secret-that-both-nodes-are-given-alike',
      DROVER_ADMIN_API_KEY: apiKey,
    }),
  )
  const [kept, killed] = await Promise.all(nodes.map(node => node.ready()))
  const client = createClient(kept!.url, apiKey)
  const fleet = await bringUpFleet(
    { client, mqtt: `mqtt://127.0.0.1:${kept!.mqttPort}` },
    { devices: DEVICES, flows: { 'http-sync': 1 }, latency: { shape: 'uniform', minMs: 500, maxMs: 4_000 } },
  )
  try {
    const { id } = await createJob(
      client,
      updateRequest('sim', { operationParameters: { ackTimeout: 12_000, timeout: 60_000, retries: 3 } }),
    )
    for (const path of [`/north/v80/operation/jobs/${id}/events`, '/north/v80/operation/events']) {
      expect((await readEvents(`${kept!.url}${path}`, { 'x-apikey': apiKey })).status).toBe(200)
    }
    const path = '/north/v80/operation/events?operations=false'
    const before = await readEvents(`${killed!.url}${path}`, { 'x-apikey': apiKey })
    await before.until(({ data }) => ((data as unknown as JobEvent).summary?.finished.total ?? 0) > 20)
    await nodes[1]!.end('SIGKILL')
    await before.ended
    const after = await readEvents(`${kept!.url}${path}`, { 'x-apikey': apiKey, 'last-event-id': before.lastId()! })
    await after.until(({ data }) => (data as unknown as JobEvent).summary?.status === 'FINISHED')
    const told = [...jobsIn(before), ...jobsIn(after)]
    const over = told.map(({ summary }) => summary.finished.total)
    expect(over).toEqual(over.toSorted((a, b) => a - b))
    expect(told.at(-1)!.summary).toEqual((await readJob(client, id)).report.summary)

    const stopped = nodes[0]!.end('SIGTERM')
    await after.ended
    expect((await stopped).code).toBe(0)
  } finally {
    await fleet.stop()
    for (const node of nodes) await node.end('SIGKILL')
  }
}, 240_000)
