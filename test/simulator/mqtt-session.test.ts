import { once } from 'node:events'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import { generate, type Packet, parser } from 'mqtt-packet'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type MqttSession, openMqttSession } from '../../src/simulator/mqtt-session.ts'
import { createPauses, type Pauses } from '../../src/simulator/pauses.ts'

/** What the broker answers to a packet, to be replaced from test to test; undefined is silence. */
let answer: (packet: Packet) => Packet | undefined
let packets: Packet[]
let sockets: Socket[]
let server: Server
let pauses: Pauses
let session: MqttSession | undefined
let signs: string[]

const obliging = (packet: Packet): Packet | undefined => {
  if (packet.cmd === 'connect') return { cmd: 'connack', returnCode: 0, sessionPresent: false }
  if (packet.cmd === 'subscribe') return { cmd: 'suback', messageId: packet.messageId!, granted: [1] }
  if (packet.cmd === 'publish') return { cmd: 'puback', messageId: packet.messageId! }
  return packet.cmd === 'pingreq' ? { cmd: 'pingresp' } : undefined
}

beforeEach(async () => {
  answer = obliging
  packets = []
  sockets = []
  signs = []
  pauses = createPauses()
  server = createServer(socket => {
    sockets.push(socket)
    const incoming = parser()
    incoming.on('packet', packet => {
      packets.push(packet)
      const reply = answer(packet)
      if (reply !== undefined) socket.write(generate(reply))
    })
    socket.on('data', data => incoming.parse(data))
    socket.on('error', () => undefined)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
})

afterEach(() => {
  session?.close()
  pauses.stop()
  for (const socket of sockets) socket.destroy()
  server.close()
})

function open(): MqttSession {
  session = openMqttSession({
    broker: new URL(`mqtt://127.0.0.1:${(server.address() as AddressInfo).port}`),
    deviceId: 'd1',
    password: 'key',
    topic: 'odm/request/d1',
    keepaliveS: 60,
    pauses,
    random: () => 0,
    onUp: () => signs.push('up'),
    onDown: () => signs.push('down'),
    onMessage: payload => signs.push(`message ${payload}`),
  })
  return session
}

const seen = (cmd: Packet['cmd']) => packets.filter(packet => packet.cmd === cmd)

test('a device that is refused tries again until it is let in', async () => {
  answer = packet =>
    packet.cmd === 'connect' && seen('connect').length < 3
      ? { cmd: 'connack', returnCode: 4, sessionPresent: false }
      : obliging(packet)
  open()
  await expect.poll(() => signs).toEqual(['up'])
  expect(seen('connect')).toHaveLength(3)
})

test('a device whose subscription is refused is not up, and tries again', async () => {
  answer = packet =>
    packet.cmd === 'subscribe' && seen('subscribe').length < 2
      ? { cmd: 'suback', messageId: packet.messageId!, granted: [128] }
      : obliging(packet)
  open()
  await expect.poll(() => seen('connect').length).toBe(2)
  await expect.poll(() => signs).toEqual(['up'])
})

test('a message that was not acknowledged is published again on the next connection, as the same one', async () => {
  answer = packet => (packet.cmd === 'publish' ? undefined : obliging(packet))
  const published = open().publish('odm/response/d1', 'done')
  await expect.poll(() => seen('publish').length).toBe(1)
  answer = obliging
  sockets[0]?.destroy()
  expect(await published).toBe(true)
  const [first, again] = seen('publish')
  expect(first).toMatchObject({ dup: false, qos: 1, topic: 'odm/response/d1' })
  expect(again).toMatchObject({ dup: true, messageId: first?.messageId })
  expect(signs).toEqual(['up', 'down', 'up'])
})

test('a message that the broker hands over is acknowledged', async () => {
  open()
  await expect.poll(() => signs).toEqual(['up'])
  const request: Packet = {
    cmd: 'publish',
    topic: 'odm/request/d1',
    payload: 'x',
    qos: 1,
    messageId: 9,
    dup: false,
    retain: false,
  }
  sockets[0]?.write(generate(request))
  await expect.poll(() => signs).toEqual(['up', 'message x'])
  await expect.poll(() => seen('puback')[0]?.messageId).toBe(9)
})

test('a connection that gives no sign of life is cut and made anew, one that does is kept', async () => {
  const opened = open()
  await expect.poll(() => signs).toEqual(['up'])
  for (let pings = 1; pings <= 3; pings++) {
    opened.ping()
    await expect.poll(() => seen('pingreq').length).toBe(pings)
  }
  expect(signs).toEqual(['up'])
  answer = packet => (packet.cmd === 'pingreq' ? undefined : obliging(packet))
  await expect
    .poll(
      () => {
        opened.ping()
        return signs
      },
      { interval: 100 },
    )
    .toEqual(['up', 'down', 'up'])
})

test('closing settles what was never acknowledged, and nothing comes back', async () => {
  answer = packet => (packet.cmd === 'publish' ? undefined : obliging(packet))
  const opened = open()
  const published = opened.publish('odm/response/d1', 'done')
  await expect.poll(() => seen('publish').length).toBe(1)
  opened.close()
  expect(await published).toBe(false)
  expect(await opened.publish('odm/response/d1', 'more')).toBe(false)
  await expect.poll(() => sockets[0]?.destroyed).toBe(true)
  expect(seen('connect')).toHaveLength(1)
})
