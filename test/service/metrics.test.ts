/** What a running service tells Prometheus of itself, and the page that explains it. */
import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { expect, test } from 'vitest'
import { createMetrics } from '../../src/telemetry/metrics.ts'
import { openHouse, response } from './house.ts'

const house = await openHouse()
const apart = await openHouse({ DROVER_METRICS_PORT: '0' })
const page = path.join(import.meta.dirname, '..', '..', 'docs', 'reference', 'metrics.md')

/** The value of one line of the metrics, by its name and labels. */
async function metricValue(line: string): Promise<number> {
  const lines = (await (await fetch(`${house.url}/metrics`)).text()).split('\n')
  return Number(
    lines
      .find(each => each.startsWith(`${line} `))
      ?.split(' ')
      .at(-1) ?? 0,
  )
}

/** Resolves once a line has reached a value; the test's own time limit ends the wait. */
async function untilAtLeast(line: string, least: number): Promise<void> {
  while ((await metricValue(line)) < least);
}

test('requests are counted by route and status, and no label holds what a client sent', async () => {
  await house.call('GET', '/north/v80/operation/jobs/of-a-tenant')
  await house.call('GET', '/v80/operation/jobs/of-a-tenant')
  await house.call('GET', '/no/such/path')
  await untilAtLeast(
    'drover_http_request_duration_seconds_count{method="GET",route="/north/v80/operation/jobs/:jobId",status="404"}',
    2,
  )
  await untilAtLeast('drover_http_request_duration_seconds_count{method="GET",route="none",status="404"}', 1)
  const text = await (await fetch(`${house.url}/metrics`)).text()
  expect(text).not.toMatch(/of-a-tenant|such/)
})

test('what a device is refused is counted by reason: 401 for a key that is not its own, 404 for an operation that is not', async () => {
  const counted = () =>
    Promise.all(
      ['unauthorized', 'unknown-operation'].map(reason =>
        metricValue(`drover_device_refusals_total{reason="${reason}"}`),
      ),
    )
  expect(await counted()).toEqual([0, 0])
  const [own, others] = [await house.provision('mine'), await house.provision('yours')]
  const job = await house.start('mine')
  const { operationId } = await house.until(job, ({ status }) => status === 'WAITING_FOR_CONNECTION')
  await house.call('POST', '/north/v80/provision/organizations', { organization: { name: 'elsewhere' } })
  const abroad = await house.call('POST', '/north/v80/provision/organizations/elsewhere/devices', {
    provision: { device: { identifier: { _current: { value: 'abroad' } } } },
  })
  expect(abroad.status).toBe(201)

  const answer = (device: string, key: string) =>
    house.south(device, key, 'operation/response', response(operationId, { resultCode: 'SUCCESSFUL' }))
  const refusals = [
    await answer('mine', 'a wrong key'),
    await answer('mine', others),
    await answer('nobody', own),
    await answer('abroad', own),
    await answer('mine', abroad.headers.get('x-apikey')!),
    await answer('yours', others),
    await answer('abroad', abroad.headers.get('x-apikey')!),
  ]
  expect(refusals.map(({ status }) => status)).toEqual([401, 401, 401, 401, 401, 404, 404])
  expect(await counted()).toEqual([5, 2])
  expect(await house.operationOf(job)).toMatchObject({ status: 'WAITING_FOR_CONNECTION' })
})

test('an answer is counted as an event and in a batch, a connection as a device, a run of a loop as done', async () => {
  const key = await house.provision('counted')
  const device = await house.overMqtt('counted', key)
  await untilAtLeast('drover_connected_devices', 1)
  await house.start('counted')
  const [request] = await device.requests.until(1)
  await house.south('counted', key, 'operation/response', response(request!.id, { resultCode: 'SUCCESSFUL' }))
  expect(await metricValue('drover_operation_events_total{event="answered"}')).toBe(1)
  expect(await metricValue('drover_gathered_batch_size_count')).toBeGreaterThan(0)
  expect(await metricValue('drover_loop_runs_total{loop="operation-dispatcher",result="done"}')).toBeGreaterThan(0)
  expect(await metricValue('process_start_time_seconds')).toBeGreaterThan(0)
})

test('with a port of their own they are served there alone', async () => {
  expect((await fetch(`${apart.metricsUrl}/metrics`)).status).toBe(200)
  expect((await fetch(`${apart.url}/metrics`)).status).toBe(404)
  expect((await fetch(`${apart.metricsUrl}/north/v80/operation/verify`)).status).toBe(404)
})

test('the reference tells every metric of ours in the words of the registry, and no other', async () => {
  const rows = (await readFile(page, 'utf8'))
    .split('\n')
    .filter(line => line.startsWith('| `drover_'))
    .map(line => line.split('|').map(cell => cell.trim().replaceAll('`', '')))
  const metrics = await createMetrics().registry.getMetricsAsJSON()
  const ours = metrics.filter(({ name }) => name.startsWith('drover_'))
  expect(rows.map(([, name, kind, , help]) => [name, kind, help])).toEqual(
    ours.map(({ name, type, help }) => [name, String(type), help]),
  )
})

test('no label holds anything that belongs to a tenant', async () => {
  const mark = 'tenants-own'
  await house.call('POST', '/north/v80/provision/organizations', { organization: { name: `${mark}-place` } })
  const user = { email: `${mark}@example.com`, password: 'a good password', profile: 'viewer', domain: `${mark}-place` }
  await house.call('POST', '/north/v80/provision/users', { user })
  await house.call('POST', '/north/v80/provision/users/login', { email: user.email, password: user.password })
  const types = '/north/v80/operationTypes/provision/organizations/drover'
  const type = { name: `${mark}-type`, applicableTo: ['entity.device'], parameters: { type: 'object' } }
  expect((await house.call('POST', types, type)).status).toBe(201)
  const key = await house.provision(`${mark}-device`, { 'provision.device.operation.flow': 'pull' })
  const job = await house.start(`${mark}-device`, { name: type.name, parameters: {} })
  await house.south(`${mark}-device`, key, 'operation/pending')
  const { operationId } = (await house.operationOf(job))!
  const word = response(operationId, {
    resultCode: `${mark}-word`,
    steps: [{ name: `${mark}-step`, result: 'SUCCESSFUL' }],
  })
  await house.south(`${mark}-device`, key, 'operation/response', word)
  await house.south(`${mark}-device`, 'wrong', 'operation/pending')
  await house.call('POST', `/north/v80/search/jobs?${mark}=1`, { filter: { eq: { jobId: job } } })
  await untilAtLeast(
    'drover_http_request_duration_seconds_count{method="POST",route="/north/v80/search/jobs",status="200"}',
    1,
  )
  const text = await (await fetch(`${house.url}/metrics`)).text()
  for (const own of [mark, job, operationId, key, house.apiKey]) expect(text).not.toContain(own)
})
