/** Where people would be told of jobs: a mail server and a receiver of SNMP traps on the loopback, which end with the file that asked for them. */
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import snmp from 'net-snmp'
import { SMTPServer } from 'smtp-server'
import { afterAll } from 'vitest'
import { notes } from '../south/parts.ts'

/** Takes every mail, without a login. */
export async function mailServer() {
  const heard = notes<{ to: string; text: string }>()
  const server = new SMTPServer({
    disabledCommands: ['STARTTLS', 'AUTH'],
    authOptional: true,
    onData(stream, session, done) {
      void text(stream).then(body => {
        heard.add({ to: session.envelope.rcptTo.map(({ address }) => address).join(), text: body })
        done()
      })
    },
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  afterAll(() => new Promise<void>(resolve => server.close(resolve)))
  return { port: (server.server.address() as AddressInfo).port, heard }
}

/** Takes every trap of the community `public`, as the values in it. */
export async function trapReceiver() {
  const heard = notes<string[]>()
  const socket = createSocket('udp4').bind(0, '127.0.0.1')
  await once(socket, 'listening')
  const { port } = socket.address()
  await new Promise<void>(resolve => socket.close(resolve))
  const receiver = snmp.createReceiver(
    { port, address: '127.0.0.1' },
    (error: Error | null, trap: { pdu: { varbinds: { value: unknown }[] } }) => {
      if (!error) heard.add(trap.pdu.varbinds.map(({ value }) => String(value)))
    },
  )
  receiver.getAuthorizer().addCommunity('public')
  afterAll(() => new Promise<void>(resolve => receiver.close(resolve)))
  return { port, heard }
}
