/** A service and its devices over a Mosquitto that speaks TLS with a certificate of the operator's own. */
import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import { connectAsync } from 'mqtt'
import { describe, expect, onTestFinished, test } from 'vitest'
import { CERTIFICATE, CERTIFICATE_KEY } from '../certificate.ts'
import { createMosquitto, mosquittoProgram } from '../south/mosquitto.ts'
import { openHouse, response } from './house.ts'

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
