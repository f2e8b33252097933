import { describe, expect, test } from 'vitest'
import { DroverError } from '../../src/domain/errors.ts'
import { errorsOf, key, openDoor, post } from './http-door.ts'

describe('a message of a device’s own format', () => {
  test('is taken as the responses that the function of its route makes of it', async () => {
    const { house, url } = await openDoor()
    const asked: unknown[] = []
    house.onOwnMessage = async (_device, message) => {
      asked.push(message)
      return [{ id: 'op-1' }, { operation: { response: { id: 'op-1', resultCode: 'SUCCESSFUL' } } }]
    }
    const answer = await post(`${url}/meter`, '{"ref":1}', { ...key, 'content-type': 'application/x-meter' })
    expect([answer.status, await answer.text()]).toEqual([200, ''])
    expect(asked).toEqual([
      { via: 'http', route: 'meter', contentType: 'application/x-meter', body: '{"ref":1}', json: { ref: 1 } },
    ])
    expect(house.messages.all).toMatchObject([
      { operationId: 'op-1', deviceId: 'pump-1', raw: '{"ref":1}' },
      { operationId: 'op-1', resultCode: 'SUCCESSFUL' },
    ])
  })

  test('may be no JSON, and may mean nothing', async () => {
    const { house, url } = await openDoor()
    const asked: unknown[] = []
    house.onOwnMessage = async (_device, message) => {
      asked.push(message)
      return null
    }
    expect((await post(`${url}/meter`, 'REF=1;OK', { ...key, 'content-type': 'text/plain' })).status).toBe(200)
    expect(asked).toEqual([{ via: 'http', route: 'meter', contentType: 'text/plain', body: 'REF=1;OK' }])
    expect(house.messages.all).toEqual([])
  })

  test('is given to the function byte by byte, and kept as a text that the database can hold', async () => {
    const { house, url } = await openDoor()
    const asked: unknown[] = []
    house.onOwnMessage = async (_device, { body }) => {
      asked.push(body)
      return { id: 'op-1', resultCode: 'SUCCESSFUL', resultDescription: 'a\u0000b' }
    }
    expect((await post(`${url}/meter`, 'REF=1\u0000OK', { ...key, 'content-type': 'text/plain' })).status).toBe(200)
    expect(asked).toEqual(['REF=1\u0000OK'])
    expect(house.messages.all).toMatchObject([{ resultDescription: 'a\uFFFDb', raw: 'REF=1\uFFFDOK' }])
  })

  test('on a route that no function reads is 404', async () => {
    const { url } = await openDoor()
    const answer = await post(`${url}/nothing`, '{}')
    expect([answer.status, await errorsOf(answer)]).toMatchObject([
      404,
      [{ context: [{ name: 'path', value: 'nothing' }] }],
    ])
  })

  test('about operations that are not its own is 404 and counted', async () => {
    const { house, url } = await openDoor()
    house.onOwnMessage = async () => [{ id: 'a' }, { id: 'b' }]
    house.onSubmit = async () => 'unknown'
    expect((await post(`${url}/meter`, '{}')).status).toBe(404)
    expect(house.refusals.all).toEqual(['unknown-operation', 'unknown-operation'])
  })

  test('that the function fails on, or makes no responses of, is 400 and counted', async () => {
    const { house, url } = await openDoor()
    house.onOwnMessage = () => Promise.reject(new DroverError('invalidField', [{ name: 'body', value: 'it throws' }]))
    expect((await post(`${url}/meter`, '{}')).status).toBe(400)
    house.onOwnMessage = async () => [{ resultCode: 'SUCCESSFUL' }]
    const answer = await post(`${url}/meter`, '{}')
    expect(await errorsOf(answer)).toMatchObject([
      { context: [{ name: 'body', value: expect.stringContaining('.id') }] },
    ])
    expect(house.refusals.all).toEqual(['unreadable-message', 'unreadable-message'])
  })

  test('needs a key as every other', async () => {
    const { url } = await openDoor()
    expect((await post(`${url}/meter`, '{}', {})).status).toBe(401)
  })
})
