/** API keys may be switched off at the door for clients. */
import { expect, test } from 'vitest'
import { userRoutes } from '../../src/north/users.ts'
import { openDoor } from './authenticated-door.ts'

const { server, root } = await openDoor({
  apiKeys: false,
  nouns(app, parts) {
    userRoutes(app, parts)
    app.get('/things', async request => request.caller)
  },
})

test('with API keys switched off a key lets nobody in, a token does', async () => {
  const byKey = await server.inject({ url: '/north/v80/things', headers: { 'x-apikey': root.key } })
  expect(byKey.statusCode).toBe(401)
  const { email, password } = root
  const login = await server.inject({
    method: 'POST',
    url: '/north/v80/provision/users/login',
    payload: { email, password },
  })
  const headers = { authorization: `Bearer ${login.json().user.jwt}`, 'x-apikey': 'ignored' }
  expect((await server.inject({ url: '/north/v80/things', headers })).statusCode).toBe(200)
})
