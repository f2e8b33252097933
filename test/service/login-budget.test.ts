/** Two services on one database, and one that starts later, let no more wrong passwords be tried than one would. */
import { afterAll, expect, test } from 'vitest'
import { readConfig } from '../../src/config/config.ts'
import { startService } from '../../src/service/service.ts'
import { createTestDatabase, silentLog } from '../database.ts'
import { createClient } from './client.ts'

const [BURST, ONE_MORE_EVERY_MS] = [10, 15_000]
const credentials = { email: 'admin@drover.test', password: 'the right password' }
const made = await createTestDatabase()
const stops: (() => Promise<void>)[] = []
afterAll(async () => {
  await Promise.all(stops.map(stop => stop()))
  await made.close()
})

async function startNode() {
  const config = readConfig({
    DATABASE_URL: made.url,
    DROVER_PORT: '0',
    DROVER_MQTT_PORT: '0',
    DROVER_DATABASE_CONNECTIONS_MAX: '5',
    DROVER_SECRET: 'a-secret-that-every-node-is-given-alike',
    DROVER_ADMIN_EMAIL: credentials.email,
    DROVER_ADMIN_PASSWORD: credentials.password,
    DROVER_LOG_LEVEL: 'silent',
  })
  const service = await startService({ config, log: silentLog, tell: () => {}, onFailure: () => {} })
  stops.push(() => service.stop())
  const { call } = createClient(service.url!, 'nobody')
  return (password: string) =>
    call('POST', '/north/v80/provision/users/login', { email: credentials.email, password }, { 'x-apikey': '' })
}

test('a budget of failed logins is that of all nodes together, and outlives them', { timeout: 240_000 }, async () => {
  const [one, other] = [await startNode(), await startNode()]
  expect((await one(credentials.password)).status).toBe(200)
  const startedAt = performance.now()
  let failures = 0
  const failAt = async (login: typeof one) => {
    const { status } = await login('wrong')
    if (status === 401) failures += 1
    else expect(status).toBe(429)
  }
  const allowed = () => BURST + Math.floor((performance.now() - startedAt) / ONE_MORE_EVERY_MS)

  for (let times = 0; times < BURST; times += 1) await Promise.all([failAt(one), failAt(other)])
  expect(failures).toBeGreaterThanOrEqual(BURST)
  expect(failures).toBeLessThanOrEqual(allowed())

  await Promise.all(stops.splice(0).map(stop => stop()))
  const later = await startNode()
  for (let times = 0; times < BURST; times += 1) await failAt(later)
  expect(failures).toBeLessThanOrEqual(allowed())
})
