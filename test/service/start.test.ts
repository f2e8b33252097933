import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { type AddressInfo, connect, createServer } from 'node:net'
import path from 'node:path'
import { describe, expect, test } from 'vitest'
import { type Client, createClient } from './client.ts'
import { dataFolder, isAlive, launchService, postgresPid, type ServiceProcess } from './service-process.ts'

const LONG_MS = 180_000
const emptyFolder = await dataFolder()

/** What reaches a port at an address: 'open', or the code of the refusal. */
async function knock(host: string, port: number): Promise<string> {
  const socket = connect({ host, port })
  try {
    return await once(socket, 'connect').then(
      () => 'open',
      (error: NodeJS.ErrnoException) => error.code ?? 'refused',
    )
  } finally {
    socket.destroy()
  }
}

describe('a service on an empty folder', async () => {
  const folder = await dataFolder()
  let service: ServiceProcess
  let client: Client
  let credentials: { organization: string; email: string; password: string; apiKey: string }
  let mqttPort: number
  let databasePort: number

  test(
    'starts by itself, takes free ports and says which, and is ready when it answers 200',
    async () => {
      service = launchService(folder)
      const ready = await service.ready()
      mqttPort = ready.mqttPort
      client = createClient(ready.url, '')
      expect(ready.url).toMatch(/^http:\/\/127\.0\.0\.1:[1-9]\d*$/)
      expect(mqttPort).toBeGreaterThan(0)
      const health = await Promise.all(['ready', 'live'].map(each => client.call('GET', `/health/${each}`)))
      expect(health.map(({ status, body }) => [status, body])).toEqual([
        [200, { status: 'ready' }],
        [200, { status: 'live' }],
      ])
    },
    LONG_MS,
  )

  test('prints the credentials of its administrator once, and they open the door', async () => {
    const [, printed, ...more] = service.stdout().split('they are not shown again:')
    expect(more).toEqual([])
    expect(printed).toContain(`Sign in with them at ${client.url}/console\n`)
    credentials = JSON.parse(/\{[^}]*\}/.exec(printed!)![0])
    expect(credentials).toEqual({
      organization: 'drover',
      email: 'admin@drover.local',
      password: expect.stringMatching(/.{20}/),
      apiKey: expect.stringMatching(/.{20}/),
    })
    const { email, password, apiKey } = credentials
    const login = await client.call<{ user: object }>('POST', '/north/v80/provision/users/login', { email, password })
    expect([login.status, login.body.user]).toEqual([200, expect.objectContaining({ email, apiKey, profile: 'root' })])
    // In the log, which others may keep, they are not.
    for (const line of service
      .stdout()
      .split('\n')
      .filter(each => each.includes('"level"'))) {
      expect(line).not.toContain(apiKey)
      expect(line).not.toContain(password)
    }
  })

  test('leads whoever opens its address to the console', async () => {
    const { status, headers } = await fetch(client.url, { redirect: 'manual' })
    expect([status, headers.get('location')]).toEqual([302, '/console'])
  })

  test('listens on the loopback address and no other, its database and broker too', async () => {
    const lines = (await readFile(path.join(folder, 'postgres', 'data', 'postmaster.pid'), 'utf8')).split('\n')
    databasePort = Number(lines[3])
    const ports = [Number(new URL(client.url).port), mqttPort, databasePort]
    expect(await Promise.all(ports.map(port => knock('127.0.0.1', port)))).toEqual(['open', 'open', 'open'])
    // Whoever listens on every address answers here as well.
    expect(await Promise.all(ports.map(port => knock('127.0.0.2', port)))).toEqual(Array(3).fill('ECONNREFUSED'))
  })

  test(
    'refuses a second start on its folder with a word that says who holds it, and goes on',
    async () => {
      const { code, stdout, stderr } = await launchService(folder).ended
      expect(code).toBe(4)
      expect(stderr).toContain(`The data folder ${folder} is held by process ${service.pid}`)
      expect(stdout).toBe('')
      expect((await client.call('GET', '/health/ready')).status).toBe(200)
    },
    LONG_MS,
  )

  test(
    'stops in order on SIGTERM: says so in its log, ends with 0, and its database is gone',
    async () => {
      client = createClient(client.url, credentials.apiKey)
      const device = { 'provision.device.identifier': { _value: { _current: { value: 'meter-1' } } } }
      const made = await client.call('POST', '/north/v80/provision/organizations/drover/devices?flattened=true', device)
      expect(made.status).toBe(201)
      const postgres = (await postgresPid(folder))!
      expect(isAlive(postgres)).toBe(true)
      const { code, signal, stderr } = await service.end('SIGTERM')
      expect([code, signal, stderr]).toEqual([0, null, ''])
      const lines = service.stdout().split('\n')
      const said = lines.filter(each => each.startsWith('{"level"')).map(each => JSON.parse(each))
      expect(said.slice(-2)).toMatchObject([
        { level: 30, msg: 'stopping', signal: 'SIGTERM' },
        { level: 30, msg: 'stopped' },
      ])
      expect(isAlive(postgres)).toBe(false)
      expect(await knock('127.0.0.1', databasePort)).toBe('ECONNREFUSED')
    },
    LONG_MS,
  )

  test(
    'keeps its data: started again, it prints no credentials, lets the same key in and knows the same device',
    async () => {
      service = launchService(folder)
      client = createClient((await service.ready()).url, credentials.apiKey)
      const device = await client.call('GET', '/north/v80/provision/organizations/drover/devices/meter-1')
      expect(device.status).toBe(200)
      expect(service.stdout()).not.toContain('not shown again')
      expect((await service.end('SIGINT')).code).toBe(0)
    },
    LONG_MS,
  )
})

test(
  'a first start that finds a port taken says which variable chose it and nothing else, and the next start prints the credentials',
  async () => {
    const folder = await dataFolder()
    const taken = createServer().listen(0, '127.0.0.1')
    await once(taken, 'listening')
    const { port } = taken.address() as AddressInfo
    const { code, stdout, stderr } = await launchService(folder, { DROVER_MQTT_PORT: String(port) }).ended
    taken.close()
    expect([code, stderr]).toEqual([
      2,
      `drover cannot start: 127.0.0.1:${port} is taken by somebody else: free it, or choose another by DROVER_MQTT_PORT\n`,
    ])
    expect(stdout).not.toContain('not shown again')
    expect(stdout).not.toMatch(/"level":[456]0/)
    const service = launchService(folder)
    await service.ready()
    expect(service.stdout()).toContain('not shown again')
    expect((await service.end('SIGTERM')).code).toBe(0)
  },
  LONG_MS,
)

test(
  'a service with a faulty configuration ends with 2 before it touches anything, and names every variable at fault',
  async () => {
    const nowhere = path.join(emptyFolder, 'never-made')
    const faults = {
      DROVER_PORT: '65536',
      DROVER_MQTT_PORT: 'mqtt',
      DROVER_ROLES: 'north,east',
      DATABASE_URL: 'mysql://localhost/drover',
      DROVER_ADMIN_EMAIL: 'nobody',
      DROVER_ADMIN_PASSWORD: 'short',
      DROVER_BODY_BYTES_MAX: '-1',
      DROVER_CALLBACK_ALLOW_LOOPBACK: 'yes',
    }
    const { code, stdout, stderr } = await launchService(nowhere, faults).ended
    expect([code, stdout]).toEqual([2, ''])
    for (const name of Object.keys(faults)) expect(stderr).toMatch(new RegExp(`^- ${name} must be `, 'm'))
    expect(stderr).not.toContain('short')
    await expect(readFile(path.join(nowhere, 'lock'))).rejects.toThrow('ENOENT')
  },
  LONG_MS,
)
