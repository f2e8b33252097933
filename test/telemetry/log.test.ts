/** What a process logs: what happened, and no key, password or token. */
import { Writable } from 'node:stream'
import { expect, test } from 'vitest'
import { createServer } from '../../src/server/server.ts'
import { createLog } from '../../src/telemetry/log.ts'

function recorded() {
  const lines: string[] = []
  const destination = new Writable({
    write(piece, _encoding, done) {
      lines.push(String(piece))
      done()
    },
  })
  return { log: createLog('trace', destination), lines }
}

test.each([
  [{ password: 'hunter2' }],
  [{ user: { password: 'hunter2', apiKey: 'hunter2', jwt: 'hunter2' } }],
  [{ body: { user: { password: 'hunter2' } } }],
  [{ headers: { authorization: 'Bearer hunter2', 'x-apikey': 'hunter2', 'x-apipass': 'hunter2' } }],
  [{ request: { headers: { authorization: 'hunter2', 'x-apikey': 'hunter2' } } }],
  [{ token: 'hunter2', secret: 'hunter2' }],
])('of %j the log keeps no secret', members => {
  const { log, lines } = recorded()
  log.info(members, 'something happened')
  expect(lines).toHaveLength(1)
  expect(lines[0]).toContain('something happened')
  expect(lines[0]).not.toContain('hunter2')
})

test('a request that failed is logged by its id and path, without headers, query and body', async () => {
  const { log, lines } = recorded()
  const server = createServer({ log, bodyBytesMax: 1_000 })
  server.post('/fails/:id', async () => {
    throw new Error('an accident')
  })
  await server.inject({
    method: 'POST',
    url: '/fails/7?X-ApiKey=hunter2',
    headers: { 'x-request-id': 'r-1', authorization: 'Bearer hunter2', 'x-apikey': 'hunter2' },
    payload: { password: 'hunter2' },
  })
  await server.close()
  const logged = lines.join('')
  expect(logged).not.toContain('hunter2')
  expect(JSON.parse(lines.find(line => line.includes('an accident'))!)).toMatchObject({
    req: { id: 'r-1', method: 'POST', path: '/fails/7', address: '127.0.0.1' },
  })
})
