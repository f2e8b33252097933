/** The typed client against a running service. */
import { describe, expect, test } from 'vitest'
import { createClient, Refused } from '../../src/contract/client/client.ts'
import { openHouse } from '../service/house.ts'

const house = await openHouse()
const credentials = () => ({ 'x-apikey': house.apiKey })
const client = createClient({ url: `${house.url}/`, credentials })

const request = {
  name: 'REBOOT_EQUIPMENT',
  active: false,
  target: { append: { entities: ['meter-1'] } },
  operationParameters: { timeout: 60_000 },
}

describe('the typed client', () => {
  test('it creates a job and reads it back, and an empty listing is undefined', async () => {
    await house.provision('meter-1')
    const { id: jobId } = await client.call('POST /operation/jobs', { body: { job: { request } } })
    const job = await client.call('GET /operation/jobs/{jobId}', { path: { jobId } })
    expect(job.report.summary).toMatchObject({ status: 'IDLE', total: 1, inProgress: { scheduled: 1 } })
    const listed = await client.call('GET /operation/jobs/{jobId}/operations', { path: { jobId }, query: { size: 5 } })
    expect(listed?.operations).toMatchObject([{ entityId: 'meter-1', status: 'PENDING' }])
    expect(await client.call('GET /deliveries')).toBeUndefined()
  })

  test('a refusal is an error with the words of the service and the fields at fault', async () => {
    const misspelt = { job: { request: { ...request, sheduel: {} } } }
    const refusal = client.call('POST /operation/jobs', { body: misspelt })
    await expect(refusal).rejects.toBeInstanceOf(Refused)
    await expect(refusal).rejects.toMatchObject({ status: 400, errors: [{ code: '0x010003' }] })
    await expect(refusal).rejects.toThrow(/sheduel/)
  })

  test('what stands in an address is one segment, whatever characters it has', async () => {
    await house.provision('a/b c?d')
    const path = { organization: 'drover', identifier: 'a/b c?d' }
    const query = { flattened: true }
    const read = await client.call('GET /provision/organizations/{organization}/devices/{identifier}', { path, query })
    expect(JSON.stringify(read)).toContain('a/b c?d')
  })

  test('an answer is a stream where it is opened as one', async () => {
    const response = await client.open('POST /search/jobs', 'text/plain', { body: { select: [{ name: 'jobStatus' }] } })
    expect(response.headers.get('content-type')).toContain('text/plain')
    expect((await response.text()).split('\n')[1]).toBe('IDLE')
  })

  test('credentials are looked up for each request', async () => {
    let key = 'none'
    const changing = createClient({ url: house.url, credentials: () => ({ 'x-apikey': key }) })
    await expect(changing.call('GET /operationTypes/catalog')).rejects.toMatchObject({ status: 401 })
    key = house.apiKey
    expect((await changing.call('GET /operationTypes/catalog')).length).toBeGreaterThan(10)
  })

  test('an answer that does not come in time is given up, and so is one that nobody wants any more', async () => {
    const silent = (_: unknown, init?: RequestInit) =>
      new Promise<Response>((_resolve, reject) => {
        if (init?.signal?.aborted) reject(init.signal.reason)
        init?.signal?.addEventListener('abort', () => reject(init.signal?.reason))
      })
    const impatient = createClient({ url: house.url, withinMs: 1, fetch: silent })
    await expect(impatient.call('GET /operationTypes/catalog')).rejects.toMatchObject({ name: 'TimeoutError' })
    const signal = AbortSignal.abort(new Error('not wanted'))
    await expect(impatient.call('GET /operationTypes/catalog', { signal })).rejects.toThrow('not wanted')
  })
})
