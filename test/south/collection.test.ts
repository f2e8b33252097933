import { describe, expect, test } from 'vitest'
import { errorsOf, key, openDoor, post, response } from './http-door.ts'

describe('collected data', () => {
  test('is answered 201 without a body once it is kept', async () => {
    const { house, url } = await openDoor()
    const iot = {
      version: '1.0',
      datastreams: [{ id: 'temperature', datapoints: [{ at: 1_700_000_000_000, value: 21.5 }] }],
    }
    const answers = [
      await post(`${url}/collect/iot`, JSON.stringify(iot), { ...key, 'content-type': 'text/plain' }),
      await post(`${url}/collect/dmm`, JSON.stringify({ event: { id: 'e', device: { model: { name: 'm' } } } })),
    ]
    for (const answer of answers) expect([answer.status, await answer.text()]).toEqual([201, ''])
    expect(house.collected.all).toEqual([
      {
        deviceId: 'pump-1',
        iot: { datastreams: [{ id: 'temperature', datapoints: [{ at: 1_700_000_000_000, value: 21.5 }] }] },
      },
      { deviceId: 'pump-1', dmm: { eventId: 'e', device: { model: { name: 'm' } } } },
    ])
  })

  test('is a sight of its device, as are a response and a question', async () => {
    const { house, url } = await openDoor()
    await post(`${url}/collect/iot`, '{"datastreams":[]}')
    await post(`${url}/collect/dmm`, '{"event":{"device":{}}}')
    await post(`${url}/operation/response`, response({}))
    await fetch(`${url}/operation/pending`, { headers: key })
    await post(`${url}/operation/response`, 'no JSON')
    expect(house.presence.all).toEqual(Array(4).fill(['seen', 'pump-1']))
  })

  test('of another shape is 400 and names the field', async () => {
    const { url } = await openDoor()
    const answer = await post(`${url}/collect/iot`, '{"datastreams":[{"id":"a","datapoints":[{}]}]}')
    expect(answer.status).toBe(400)
    expect(await errorsOf(answer)).toMatchObject([{ context: [{ name: 'datastreams[0].datapoints[0].value' }] }])
  })
})
