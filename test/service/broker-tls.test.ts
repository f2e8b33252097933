/** A service and its devices over a Mosquitto that speaks TLS with a certificate of the operator's own. */
import { writeFile } from 'node:fs/promises'
import type { AddressInfo } from 'node:net'
import path from 'node:path'
import { createServer } from 'node:tls'
import { connectAsync } from 'mqtt'
import { describe, expect, onTestFinished, test } from 'vitest'
import { CERTIFICATE, CERTIFICATE_KEY } from '../certificate.ts'
import { createMosquitto, mosquittoProgram } from '../south/mosquitto.ts'
import { openHouse, response } from './house.ts'

test('to a broker whose certificate it cannot trust the service says not a byte of MQTT', async () => {
  const broker = createServer({ cert: CERTIFICATE, key: CERTIFICATE_KEY })
  onTestFinished(() => void broker.close())
  const heard: Buffer[] = []
  const seen = Promise.withResolvers<string>()
  broker.on('tlsClientError', (error: NodeJS.ErrnoException) => seen.resolve(`${error.code}`))
  broker.on('secureConnection', socket => {
    socket.on('data', (chunk: Buffer) => heard.push(chunk)).on('error', () => {})
    socket.once('close', () => seen.resolve('closed'))
  })
  await new Promise<void>(resolve => broker.listen(0, '127.0.0.1', resolve))
  await openHouse({ DROVER_MQTT_URL: `mqtts://127.0.0.1:${(broker.address() as AddressInfo).port}` })
  expect(await seen.promise).toMatch(/^(closed|ERR_SSL_|ECONNRESET)/)
  expect(Buffer.concat(heard).length).toBe(0)
})

describe.skipIf(mosquittoProgram === undefined)('over a broker that speaks TLS', () => {
  test('operations reach devices and end, once the operator names the authority of its certificate', async () => {
    let certificate = ''
    const broker = await createMosquitto(mosquittoProgram!, async folder => {
      certificate = path.join(folder, 'cert.pem')
      const key = path.join(folder, 'key.pem')
      await writeFile(certificate, CERTIFICATE)
      await writeFile(key, CERTIFICATE_KEY)
      return ['allow_anonymous true', `certfile ${certificate}`, `keyfile ${key}`]
    })
    onTestFinished(() => broker.remove())
    await broker.start()
    const url = broker.url.replace('mqtt:', 'mqtts:')
    const house = await openHouse({ DROVER_MQTT_URL: url, DROVER_MQTT_CA_FILE: certificate })
    await house.provision('pump', { 'provision.device.operation.flow': 'mqtt' })
    const device = await connectAsync(url, { ca: CERTIFICATE, reconnectPeriod: 0 })
    onTestFinished(() => void device.end(true))
    device.on('message', (_topic, payload) => {
      const { id } = JSON.parse(payload.toString()).operation.request
      device.publish('odm/response/pump', JSON.stringify(response(id, { resultCode: 'SUCCESSFUL' })), { qos: 1 })
    })
    await device.subscribeAsync('odm/request/pump', { qos: 1 })
    const job = await house.start('pump')
    expect(await house.until(job, ({ status }) => status === 'FINISHED')).toMatchObject({ result: 'SUCCESSFUL' })
  })
})
