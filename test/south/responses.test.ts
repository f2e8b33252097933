import { once } from 'node:events'
import { request as httpRequest } from 'node:http'
import { describe, expect, test } from 'vitest'
import { errorsOf, key, openDoor, post, response } from './http-door.ts'
import { device } from './parts.ts'

describe('a response', () => {
  test('is answered 200 only after the commit', async () => {
    const { house, url } = await openDoor()
    const commit = Promise.withResolvers<'taken'>()
    house.onSubmit = () => commit.promise
    let answered = false
    const answer = post(`${url}/operation/response`, response({ resultCode: 'SUCCESSFUL', timestamp: 5 })).then(got => {
      answered = true
      return got
    })
    const [message] = await house.messages.until(1)
    expect(message).toEqual({
      operationId: 'op-1',
      organization: 1,
      deviceId: 'pump-1',
      partition: 3,
      entity: device('pump-1').entity,
      resultCode: 'SUCCESSFUL',
      timestamp: 5,
      steps: [],
      raw: response({ resultCode: 'SUCCESSFUL', timestamp: 5 }),
    })
    expect(answered).toBe(false)
    commit.resolve('taken')
    const { status, headers } = await answer
    expect([status, headers.get('content-length')]).toEqual([200, '0'])
    await house.presence.until(1, ([sign]) => sign === 'seen')
  })

  test.for([
    'text/html; charset=utf-8',
    'application/x-www-form-urlencoded',
    'nonsense',
    'multipart/form-data; boundary=x',
  ])('is read as JSON though its content type says %s', async type => {
    const { house, url } = await openDoor()
    const answer = await post(`${url}/operation/response`, response({ steps: [{ name: 'A', result: 'SUCCESSFUL' }] }), {
      ...key,
      'content-type': type,
    })
    expect(answer.status).toBe(200)
    expect(house.messages.all).toMatchObject([{ steps: [{ name: 'A', result: 'SUCCESSFUL' }] }])
  })

  test('is read without any content type at all', async () => {
    const { url } = await openDoor()
    const sent = httpRequest(`${url}/operation/response`, { method: 'POST', headers: key })
    sent.end(response({}))
    const [answer] = await once(sent, 'response')
    expect(answer.statusCode).toBe(200)
    answer.resume()
  })

  test('to an unknown operation, or to that of another device, is 404 and counted', async () => {
    const { house, url } = await openDoor()
    house.onSubmit = async () => 'unknown'
    const answer = await post(`${url}/operation/response`, response({}))
    expect(answer.status).toBe(404)
    expect(await errorsOf(answer)).toMatchObject([{ context: [{ name: 'operation.response.id', value: 'op-1' }] }])
    expect(house.refusals.all).toEqual(['unknown-operation'])
  })

  test.for([
    ['', 400, 'body'],
    ['{"operation":', 400, 'body'],
    ['[]', 400, 'body'],
    ['{"operation":{"response":{}}}', 400, 'operation.response.id'],
    ['{"operation":{"response":{"id":"x","steps":{}}}}', 400, 'operation.response.steps'],
    [
      '{"operation":{"response":{"id":"x","steps":[{"result":"SUCCESSFUL"}]}}}',
      400,
      'operation.response.steps[0].name',
    ],
    ['['.repeat(5000), 400, 'body'],
  ] as const)('%j is refused and names what is at fault', async ([body, status, name]) => {
    const { house, url } = await openDoor()
    const answer = await post(`${url}/operation/response`, body)
    expect(answer.status).toBe(status)
    expect(await errorsOf(answer)).toMatchObject([{ context: [{ name }] }])
    expect(house.refusals.all).toEqual(['unreadable-message'])
    expect(house.messages.all).toEqual([])
  })

  test('beyond the limit is 413', async () => {
    const { url } = await openDoor({}, { bodyBytesMax: 1000 })
    const answer = await post(`${url}/operation/response`, response({ resultDescription: 'x'.repeat(1000) }))
    expect(answer.status).toBe(413)
    expect((await post(`${url}/operation/response`, response({}).padEnd(1000))).status).toBe(200)
  })

  test('that the service cannot take now is no success', async () => {
    const { house, url } = await openDoor()
    house.onSubmit = () => Promise.reject(new Error('the database is gone'))
    expect((await post(`${url}/operation/response`, response({}))).status).toBe(500)
  })

  test('is taken though presence cannot be recorded', async () => {
    const { house, url } = await openDoor()
    house.onPresence = () => Promise.reject(new Error('the database is gone'))
    expect((await post(`${url}/operation/response`, response({}))).status).toBe(200)
  })
})
