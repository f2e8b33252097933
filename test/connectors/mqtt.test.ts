import { describe, expect, onTestFinished, test } from 'vitest'
import { embeddedLink, type Handed, type MqttLink, mqttConnector } from '../../src/connectors/mqtt.ts'
import { bookReports, request } from './requests.ts'

function link(hand: MqttLink['hand']): MqttLink {
  return { capacity: () => 10, hand }
}

function connector(made: MqttLink) {
  const mqtt = mqttConnector(made)
  onTestFinished(() => mqtt.stop(0))
  return mqtt
}

describe('a request over MQTT', () => {
  test('is handed to the link as it travels, with the time after which it is of no use', async () => {
    const handed: unknown[] = []
    const mqtt = connector(
      link(async ({ deviceId }, payload, expiresMs) => {
        handed.push({ deviceId, message: JSON.parse(payload.toString()), expiresMs })
        return 'sent'
      }),
    )
    const reports = bookReports()
    const asked = request({ parametersAs: 'object' }, { exchangeMs: 45_000 })
    reports.send(mqtt, [asked])
    expect(await reports.until(1, asked)).toEqual([{ seen: 'sent' }])
    expect(handed).toEqual([
      {
        deviceId: 'pump-1',
        message: {
          operation: {
            request: {
              timestamp: asked.launchedAt,
              deviceId: 'pump-1',
              name: 'REBOOT_EQUIPMENT',
              parameters: { type: 'HARDWARE' },
              id: asked.id,
            },
          },
        },
        expiresMs: 45_000,
      },
    ])
  })

  test.for(['sent', 'away', 'notSent'] as const)('that is %s is reported so', async seen => {
    const reports = bookReports()
    reports.send(connector(link(async () => seen)), [request()])
    expect(await reports.until(1)).toEqual([{ seen }])
  })

  test('that the link fails on was not sent', async () => {
    const reports = bookReports()
    reports.send(connector(link(() => Promise.reject(new Error('broken')))), [request()])
    expect(await reports.until(1)).toEqual([{ seen: 'notSent' }])
  })

  test.for(['a/b', '+', '#'])('to a device called %s is unreachable: that is no level of a topic', async deviceId => {
    const reports = bookReports()
    reports.send(connector(link(async () => 'sent')), [request({ deviceId })])
    expect(await reports.until(1)).toMatchObject([{ seen: 'unreachable' }])
  })

  test('on the embedded broker is with the device or the device is away', async () => {
    const published: string[] = []
    const embedded = embeddedLink(() => ({
      publish: ({ deviceId }, payload) => {
        published.push(JSON.parse(payload.toString()).operation.request.deviceId)
        return deviceId === 'there' ? 'sent' : 'away'
      },
    }))
    const reports = bookReports()
    const [there, away] = [request({ deviceId: 'there' }), request({ deviceId: 'away' })]
    reports.send(connector(embedded), [there, away])
    await reports.until(2)
    expect([reports.of(there), reports.of(away)]).toEqual([[{ seen: 'sent' }], [{ seen: 'away' }]])
    expect(published).toEqual(['there', 'away'])
  })
})

test('a request is away while the embedded broker is not open', async () => {
  const reports = bookReports()
  reports.send(connector(embeddedLink(() => undefined)), [request()])
  expect(await reports.until(1)).toEqual([{ seen: 'away' }])
})

test('a connector that stops waits for what is under way, and reports nothing after its grace', async () => {
  const first = Promise.withResolvers<Handed>()
  const patient = mqttConnector(link(() => first.promise))
  const reports = bookReports()
  reports.send(patient, [request()])
  const stopped = patient.stop(10_000)
  expect(patient.capacity()).toBe(0)
  reports.send(patient, [request()])
  first.resolve('sent')
  await stopped
  expect(reports.all.map(({ report }) => report.seen)).toEqual(['sent'])

  const never = Promise.withResolvers<Handed>()
  const hasty = mqttConnector(link(() => never.promise))
  const quiet = bookReports()
  quiet.send(hasty, [request()])
  await hasty.stop(5)
  never.resolve('sent')
  await never.promise
  expect(quiet.all).toEqual([])
})
