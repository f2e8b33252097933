/** A broker of the operator whose rules let Drover publish nothing: that is counted, and what was held back is sent once they do. */
import { writeFile } from 'node:fs/promises'
import { connectAsync } from 'mqtt'
import { afterAll, describe, expect, test } from 'vitest'
import { createMosquitto, mosquittoProgram } from '../south/mosquitto.ts'
import { notes } from '../south/parts.ts'
import { openHouse, response } from './house.ts'

const LONG_MS = 120_000

describe.skipIf(mosquittoProgram === undefined)('behind a Mosquitto that lets Drover publish nothing', async () => {
  if (mosquittoProgram === undefined) return
  let acl = ''
  const broker = await createMosquitto(mosquittoProgram, async folder => {
    acl = `${folder}/acl`
    await writeFile(acl, 'topic read #\ntopic write odm/response/+')
    return ['allow_anonymous true', `acl_file ${acl}`]
  })
  afterAll(() => broker.remove())
  await broker.start()
  const house = await openHouse({ DROVER_MQTT_URL: broker.url })

  async function refusals(): Promise<number> {
    const page = await (await fetch(`${house.url}/metrics`)).text()
    const line = page.split('\n').find(each => each.startsWith('drover_broker_refusals_total{reason="0x87"} '))
    return Number(line?.split(' ').at(-1) ?? 0)
  }

  test(
    'a request is counted as refused and stays queued, and is sent once when the rules are mended',
    async () => {
      await house.provision('kept-out', { 'provision.device.operation.flow': 'mqtt' })
      const job = await house.start('kept-out', { operationParameters: { timeout: LONG_MS } })
      await expect.poll(refusals, { timeout: 45_000 }).toBeGreaterThan(1)
      expect(await house.operationOf(job)).toMatchObject({ status: 'QUEUED' })

      await broker.kill('SIGTERM')
      await writeFile(acl, 'topic readwrite #')
      await broker.start()
      const device = await connectAsync(broker.url, { clientId: 'kept-out' })
      afterAll(() => device.endAsync(true))
      const requests = notes<string>()
      device.on('message', (_topic, payload) => requests.add(JSON.parse(payload.toString()).operation.request.id))
      await device.subscribeAsync('odm/request/kept-out', { qos: 1 })
      const [id] = await requests.until(1)
      await device.publishAsync('odm/response/kept-out', JSON.stringify(response(id!, { resultCode: 'SUCCESSFUL' })), {
        qos: 1,
      })
      await house.until(job, ({ status }) => status === 'FINISHED')
      expect(requests.all).toHaveLength(1)
    },
    LONG_MS,
  )
})
