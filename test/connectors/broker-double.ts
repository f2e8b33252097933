/** A broker that does what a test says: it lets clients in, and acknowledges nothing by itself. */
import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { generate, type IConnackPacket, type IPubackPacket, type IPublishPacket, parser } from 'mqtt-packet'
import { onTestFinished } from 'vitest'
import { type Notes, notes } from '../south/parts.ts'

/** A message as it came to the broker. */
export interface Arrived {
  readonly topic: string
  readonly payload: string
  /** after which the broker is to deliver it to nobody any more */
  readonly expiresS?: number
  /** with a reason of MQTT 5; success by default */
  acknowledge(reasonCode?: number): void
}

export interface BrokerDouble {
  readonly url: string
  /** connections that were accepted */
  readonly connections: Notes<Socket>
  readonly messages: Notes<Arrived>
  /** what becomes of a client once it was let in; stays by default */
  onAccepted: (socket: Socket) => void
}

export async function brokerDouble(
  properties: IConnackPacket['properties'] = { receiveMaximum: 100 },
): Promise<BrokerDouble> {
  const double: Omit<BrokerDouble, 'url'> = { connections: notes(), messages: notes(), onAccepted() {} }
  const sockets = new Set<Socket>()
  const server = createServer(socket => {
    sockets.add(socket)
    const version = { protocolVersion: 5 }
    const incoming = parser(version)
    incoming.on('packet', packet => {
      if (packet.cmd === 'connect') {
        socket.write(generate({ cmd: 'connack', reasonCode: 0, sessionPresent: false, properties }, version))
        double.connections.add(socket)
        double.onAccepted(socket)
      }
      if (packet.cmd === 'pingreq') socket.write(generate({ cmd: 'pingresp' }, version))
      if (packet.cmd === 'publish') double.messages.add(arrived(packet, socket))
    })
    socket.on('data', chunk => incoming.parse(chunk))
    socket.on('error', () => {})
  })
  onTestFinished(() => {
    server.close()
    for (const socket of sockets) socket.destroy()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return Object.assign(double, { url: `mqtt://127.0.0.1:${(server.address() as AddressInfo).port}` })
}

function arrived({ topic, payload, messageId = 0, properties }: IPublishPacket, socket: Socket): Arrived {
  const expiresS = properties?.messageExpiryInterval
  return {
    ...(expiresS !== undefined && { expiresS }),
    topic,
    payload: payload.toString(),
    acknowledge(reasonCode = 0) {
      const puback: IPubackPacket = { cmd: 'puback', messageId, reasonCode }
      socket.write(generate(puback, { protocolVersion: 5 }))
    },
  }
}
