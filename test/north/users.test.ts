/** Users: who makes, reads, changes and removes whom. */
import { describe, expect, test } from 'vitest'
import { organizationRoutes } from '../../src/north/organizations.ts'
import { userRoutes } from '../../src/north/users.ts'
import { errorOf, openDoor } from './authenticated-door.ts'

const door = await openDoor({
  nouns(app, parts) {
    userRoutes(app, parts)
    organizationRoutes(app, parts)
    app.post('/things', async () => ({}))
  },
})
const { call, root } = door

let made = 0
const newUser = (members: object = {}) => {
  made += 1
  return { user: { email: `u${made}@example.com`, password: 'pass word', profile: 'advanced', ...members } }
}
const login = async (email: string, password: string) =>
  (await call('', 'POST', '/provision/users/login', { email, password })).status

describe('a user', () => {
  test('is created with a location, and read back with its key and whatever else was said of it', async () => {
    const { user } = newUser({
      name: 'n',
      surname: 's',
      description: 'd',
      workgroup: 'first',
      domain: 'first',
      countryCode: 'ES',
      langCode: 'en',
      timezone: 'Europe/Madrid',
      forcePasswordChange: false,
      favouriteColour: { name: 'blue' },
    })
    const created = await call(root.key, 'POST', '/provision/users', { user })
    expect(created.status).toBe(201)
    expect(created.headers.location).toBe(`/north/v80/provision/users/${encodeURIComponent(user.email)}`)
    const { password: _, ...rest } = user
    const read = await call(root.key, 'GET', `/provision/users/${encodeURIComponent(user.email)}`)
    expect(read.status).toBe(200)
    expect(read.json()).toEqual({ user: { ...rest, apiKey: expect.any(String), '2FaType': 'NONE' } })
    expect(await login(user.email, user.password)).toBe(200)
  })

  test('whose email is taken, in any case, is refused as a duplicate', async () => {
    const body = newUser()
    await call(root.key, 'POST', '/provision/users', body)
    const again = await call(root.key, 'POST', '/provision/users', {
      user: { ...body.user, email: body.user.email.toUpperCase() },
    })
    expect(again.status).toBe(400)
    expect(errorOf(again)).toMatchObject({ code: '0x010114', message: 'Entity duplicated.' })
  })

  test.each([
    ['email', undefined, '0x010000', 'user.email'],
    ['email', 'no email', '0x010001', 'user.email'],
    ['password', undefined, '0x010000', 'user.password'],
    ['password', '', '0x010001', 'user.password'],
    ['profile', 'emperor', '0x010001', 'user.profile'],
    ['apiKey', 'short', '0x010001', 'user.apiKey'],
    ['name', 7, '0x010001', 'user.name'],
    ['notes', 'x'.repeat(20_000), '0x010001', 'user'],
  ])('with a bad %s (%s) is refused, and the field named', async (member, value, code, field) => {
    const answer = await call(root.key, 'POST', '/provision/users', newUser({ [member]: value }))
    expect(answer.status).toBe(400)
    expect(errorOf(answer)).toMatchObject({ code, context: [{ name: field }] })
  })

  test('is changed member by member; null takes one away', async () => {
    const { user } = newUser({ name: 'before', surname: 's' })
    await call(root.key, 'POST', '/provision/users', { user })
    const path = `/provision/users/${user.email}`
    const changed = await call(root.key, 'PUT', path, { user: { name: 'after', surname: null, profile: 'viewer' } })
    expect(changed.status).toBe(200)
    expect(changed.json()).toMatchObject({ user: { name: 'after', profile: 'viewer' } })
    expect(changed.json()).not.toHaveProperty('user.surname')
    expect((await call(root.key, 'PUT', path, { user: { email: 'other@example.com' } })).status).toBe(400)
  })

  test('that is read and put back unchanged stays as it is', async () => {
    const { user } = newUser({ name: 'n' })
    await call(root.key, 'POST', '/provision/users', { user })
    const path = `/provision/users/${user.email}`
    const read = (await call(root.key, 'GET', path)).json()
    expect((await call(root.key, 'PUT', path, read)).json()).toEqual(read)
    expect(await login(user.email, user.password)).toBe(200)
  })

  test('is gone when removed', async () => {
    const { email, password } = await door.user('advanced')
    expect((await call(root.key, 'DELETE', `/provision/users/${email}`)).status).toBe(200)
    expect((await call(root.key, 'GET', `/provision/users/${email}`)).status).toBe(404)
    expect((await call(root.key, 'DELETE', `/provision/users/${email}`)).status).toBe(404)
    expect(await login(email, password)).toBe(401)
  })
})

describe('one’s own password and key', () => {
  test('change with the present password in X-ApiPass only', async () => {
    const { email, password, key } = await door.user('viewer')
    const path = `/provision/users/${email}`
    const body = { user: { password: 'another password' } }
    const missing = await call(key, 'PUT', path, body)
    expect(missing.status).toBe(400)
    expect(errorOf(missing)).toMatchObject({ code: '0x010000', context: [{ name: 'X-ApiPass' }] })
    expect((await call(key, 'PUT', path, body, { 'x-apipass': 'wrong' })).status).toBe(401)
    expect(await login(email, password)).toBe(200)
    expect((await call(key, 'PUT', path, body, { 'x-apipass': password })).status).toBe(200)
    expect(await login(email, password)).toBe(401)
    expect(await login(email, 'another password')).toBe(200)
  })

  test('a key is chosen, or made by asking for none', async () => {
    const { email, password, key } = await door.user('advanced')
    const path = `/provision/users/${email}`
    const pass = { 'x-apipass': password }
    const chosen = 'a-key-chosen-by-hand-1'
    expect((await call(key, 'PUT', path, { user: { apiKey: chosen } })).status).toBe(400)
    expect((await call(key, 'PUT', path, { user: { apiKey: chosen } }, pass)).json()).toMatchObject({
      user: { apiKey: chosen },
    })
    expect((await call(key, 'GET', path)).status).toBe(401)
    const renewed = (await call(chosen, 'PUT', path, { user: { apiKey: null } }, pass)).json() as unknown as {
      user: { apiKey: string }
    }
    expect(renewed.user.apiKey).not.toBe(chosen)
    expect((await call(renewed.user.apiKey, 'GET', path)).status).toBe(200)
    const taken = await call(renewed.user.apiKey, 'PUT', path, { user: { apiKey: root.key } }, pass)
    expect(taken.status).toBe(400)
  })

  test('that must be changed stop everything else until they are', async () => {
    const body = newUser({ forcePasswordChange: true })
    const created = (await call(root.key, 'POST', '/provision/users', body)).json() as unknown as {
      user: { apiKey: string }
    }
    const { apiKey } = created.user
    const stopped = await call(apiKey, 'POST', '/things', {})
    expect(stopped.status).toBe(403)
    expect(errorOf(stopped).context).toEqual([{ name: 'user.forcePasswordChange' }])
    const change = { user: { password: 'a new one' } }
    const path = `/provision/users/${body.user.email}`
    const same = { user: { password: body.user.password } }
    const refused = await call(apiKey, 'PUT', path, same, { 'x-apipass': body.user.password })
    expect([refused.status, errorOf(refused).context]).toEqual([400, [{ name: 'user.password' }]])
    expect((await call(apiKey, 'PUT', path, change, { 'x-apipass': body.user.password })).json()).toMatchObject({
      user: { forcePasswordChange: false },
    })
    expect((await call(apiKey, 'POST', '/things', {})).status).toBe(200)
  })
})

describe('profiles', () => {
  test('nobody gives a profile above its own, at creation or later', async () => {
    const { key, email } = await door.user('admin_domain')
    const above = await call(key, 'POST', '/provision/users', newUser({ profile: 'admin' }))
    expect(above.status).toBe(403)
    expect(errorOf(above)).toMatchObject({ code: '0x05', context: [{ name: 'user.profile' }] })
    expect((await call(key, 'POST', '/provision/users', newUser({ profile: 'admin_domain' }))).status).toBe(201)
    expect((await call(key, 'PUT', `/provision/users/${email}`, { user: { profile: 'root' } })).status).toBe(403)
  })

  test('nobody changes or removes a user above itself', async () => {
    const { key } = await door.user('admin_domain')
    const above = await door.user('admin')
    expect((await call(key, 'PUT', `/provision/users/${above.email}`, { user: { password: 'x' } })).status).toBe(403)
    expect((await call(key, 'DELETE', `/provision/users/${above.email}`)).status).toBe(403)
  })

  test('who does not manage users makes none, and changes but itself', async () => {
    const { key, email } = await door.user('advanced')
    const other = await door.user('viewer')
    expect((await call(key, 'POST', '/provision/users', newUser())).status).toBe(403)
    expect((await call(key, 'PUT', `/provision/users/${other.email}`, { user: { name: 'x' } })).status).toBe(403)
    expect((await call(key, 'PUT', `/provision/users/${email}`, { user: { name: 'x' } })).status).toBe(200)
    expect((await call(key, 'PUT', `/provision/users/${email}`, { user: { profile: 'viewer' } })).status).toBe(403)
  })

  test('a key is seen by its user and by who manages it, by nobody else', async () => {
    const viewer = await door.user('viewer')
    const admin = await door.user('admin')
    expect((await call(viewer.key, 'GET', `/provision/users/${viewer.email}`)).json()).toHaveProperty('user.apiKey')
    expect((await call(admin.key, 'GET', `/provision/users/${viewer.email}`)).json()).toHaveProperty('user.apiKey')
    const seen = await call(viewer.key, 'GET', `/provision/users/${admin.email}`)
    expect(seen.status).toBe(200)
    expect(seen.body).not.toContain(admin.key)
    expect((await call(admin.key, 'GET', `/provision/users/${root.email}`)).body).not.toContain(root.key)
  })

  test('the last user with profile root stays, and stays root', async () => {
    const removed = await call(root.key, 'DELETE', `/provision/users/${root.email}`)
    expect(removed.status).toBe(400)
    const demoted = await call(root.key, 'PUT', `/provision/users/${root.email}`, { user: { profile: 'admin' } })
    expect(demoted.status).toBe(400)
  })
})

describe('organizations apart', () => {
  test('another organization’s user is 404, for everything', async () => {
    await call(root.key, 'POST', '/provision/organizations', { organization: { name: 'elsewhere' } })
    const there = await door.user('admin', 'elsewhere')
    const here = await door.user('admin')
    for (const method of ['GET', 'PUT', 'DELETE'] as const) {
      const body = method === 'PUT' ? { user: { name: 'x' } } : undefined
      const answer = await call(here.key, method, `/provision/users/${there.email}`, body)
      expect(answer.status).toBe(404)
      expect(answer.body).not.toContain('elsewhere')
    }
  })

  test('root makes users in the organization that the body names', async () => {
    await call(root.key, 'POST', '/provision/organizations', { organization: { name: 'named' } })
    const body = newUser({ domain: 'named', profile: 'admin_domain' })
    const created = (await call(root.key, 'POST', '/provision/users', body)).json() as unknown as {
      user: { apiKey: string }
    }
    expect((await call(created.user.apiKey, 'GET', '/provision/organizations/named')).status).toBe(200)
    const nowhere = await call(root.key, 'POST', '/provision/users', newUser({ domain: 'nowhere' }))
    expect(nowhere.status).toBe(404)
    expect(errorOf(nowhere)).toMatchObject({ code: '0x010015', context: [{ name: 'user.domain' }] })
  })

  test('everybody else makes users of its own organization, and is refused where the body names another', async () => {
    const { key } = await door.user('admin_domain')
    for (const place of ['elsewhere', 'nowhere']) {
      const body = newUser({ domain: place })
      const refused = await call(key, 'POST', '/provision/users', body)
      expect(refused.status).toBe(400)
      expect(errorOf(refused)).toMatchObject({ code: '0x010001', context: [{ name: 'user.domain', value: place }] })
      expect((await call(root.key, 'GET', `/provision/users/${body.user.email}`)).status).toBe(404)
    }
    const created = (await call(key, 'POST', '/provision/users', newUser({ domain: 'first' }))).json() as unknown as {
      user: { apiKey: string }
    }
    expect((await call(created.user.apiKey, 'GET', '/provision/organizations/first')).status).toBe(200)
  })

  test('a user stays where it is: a change that names another organization is refused, whoever asks', async () => {
    const body = newUser({ domain: 'first' })
    await call(root.key, 'POST', '/provision/users', body)
    const path = `/provision/users/${body.user.email}`
    const { key } = await door.user('admin')
    for (const caller of [root.key, key]) {
      for (const member of ['domain', 'organization']) {
        const refused = await call(caller, 'PUT', path, { user: { [member]: 'elsewhere', name: 'x' } })
        expect(refused.status).toBe(400)
        expect(errorOf(refused).context).toEqual([{ name: `user.${member}`, value: 'elsewhere' }])
      }
    }
    const read = (await call(root.key, 'GET', path)).json()
    expect(read).toMatchObject({ user: { domain: 'first' } })
    expect(read).not.toHaveProperty('user.name')
    expect((await call(root.key, 'PUT', path, { user: { domain: 'first', name: 'y' } })).status).toBe(200)
    expect((await call(root.key, 'PUT', path, { user: { domain: null } })).json()).toMatchObject({
      user: { domain: 'first', name: 'y' },
    })
  })

  test('root who names two organizations is refused: a user is in one', async () => {
    const refused = await call(
      root.key,
      'POST',
      '/provision/users',
      newUser({ organization: 'first', domain: 'elsewhere' }),
    )
    expect(refused.status).toBe(400)
    expect(errorOf(refused).context).toEqual([{ name: 'user.domain', value: 'elsewhere' }])
  })
})
