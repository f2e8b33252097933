import { createSocket } from 'node:dgram'
import { EventEmitter, once } from 'node:events'
import snmp from 'net-snmp'
import { describe, expect, onTestFinished, test } from 'vitest'
import { createTrapConnector, type TrapOptions, type TrapUser } from '../../src/connectors/trap.ts'
import { codeIn, readPage } from '../docs/page.ts'
import { noticeMessage } from '../job-notice.ts'

const oid = '1.3.6.1.4.1.8072.9999.9999'
const engineId = '80001f880464726f766572'
const never = new AbortController().signal

interface HeardTrap {
  pdu: { type: number; community?: string; user?: string; varbinds: { oid: string; type: number; value: unknown }[] }
}

async function freePort(): Promise<number> {
  const socket = createSocket('udp4')
  await new Promise<void>(resolve => socket.bind(0, '127.0.0.1', resolve))
  const { port } = socket.address()
  await new Promise<void>(resolve => socket.close(() => resolve()))
  return port
}

/** A receiver of traps on loopback, which knows a community and a user. */
async function trapReceiver(user?: snmp.User) {
  const port = await freePort()
  const news = new EventEmitter()
  const receiver = snmp.createReceiver(
    { port, address: '127.0.0.1', includeAuthentication: true },
    (error: Error | null, trap: HeardTrap) => news.emit('heard', error ?? trap),
  )
  receiver.getAuthorizer().addCommunity('herd')
  if (user) receiver.getAuthorizer().addUser(user)
  onTestFinished(() => new Promise<void>(resolve => receiver.close(() => resolve())))
  return {
    port,
    async next(): Promise<HeardTrap> {
      const [heard] = (await once(news, 'heard')) as [HeardTrap | Error]
      if (heard instanceof Error) throw heard
      return heard
    },
  }
}

function connectorTo(port: number, credentials: TrapOptions['credentials'], more: Partial<TrapOptions> = {}) {
  const connector = createTrapConnector({ host: '127.0.0.1', port, oid, credentials, ...more })
  onTestFinished(() => connector.close())
  return connector
}

function readable({ pdu }: HeardTrap): [string, unknown][] {
  return pdu.varbinds.map(each => [each.oid, Buffer.isBuffer(each.value) ? each.value.toString() : each.value])
}

const objects: [string, unknown][] = [
  [`${oid}.1.1.0`, '01234567-89ab-8cde-8f10-000000000000'],
  [`${oid}.1.2.0`, '0123456789abcdef'],
  [`${oid}.1.3.0`, 'REBOOT_EQUIPMENT'],
  [`${oid}.1.4.0`, 'ann@example.com'],
  [`${oid}.1.5.0`, 'FINISHED_WITH_ERRORS'],
  [`${oid}.1.6.0`, '2026-03-01T10:00:01.000Z'],
  [`${oid}.1.7.0`, '2026-03-01T10:05:00.000Z'],
  [`${oid}.1.8.0`, 10],
  [`${oid}.1.9.0`, 7],
  [`${oid}.1.10.0`, 2],
  [`${oid}.1.11.0`, 1],
  [`${oid}.1.12.0`, '0x020012'],
  [`${oid}.1.13.0`, 'ERROR_PROCESSING: 2, CANCELLED: 1'],
]

describe('the trap at the end of a job', () => {
  test('says in version 2c how the job ended, with the community', async () => {
    const receiver = await trapReceiver()
    const heard = receiver.next()
    const connector = connectorTo(receiver.port, { version: '2c', community: 'herd' })
    expect(await connector.send(noticeMessage(), never)).toEqual({ taken: true })
    const trap = await heard
    expect(trap.pdu).toMatchObject({ type: snmp.PduType.TrapV2, community: 'herd' })
    expect(readable(trap)[1]).toEqual(['1.3.6.1.6.3.1.1.4.1.0', `${oid}.0.1`])
    expect(readable(trap).slice(2)).toEqual(objects)
    const page = await readPage('reference/notifications.md')
    const shown = page.table('SNMP trap').map(([object, type]) => [codeIn(object!)[0]!.replace('<oid>', oid), type])
    const types = new Map<number, string>([
      [snmp.ObjectType.OctetString, 'OctetString'],
      [snmp.ObjectType.Gauge, 'Gauge32'],
    ])
    expect(shown).toEqual(trap.pdu.varbinds.slice(2).map(each => [each.oid, types.get(each.type)]))
  })

  const auth = { protocol: 'sha256', key: 'a signing password' } as const
  const users: [string, TrapUser, snmp.User][] = [
    ['unsigned', { name: 'drover' }, { name: 'drover', level: snmp.SecurityLevel.noAuthNoPriv }],
    [
      'signed',
      { name: 'drover', auth },
      {
        name: 'drover',
        level: snmp.SecurityLevel.authNoPriv,
        authProtocol: snmp.AuthProtocols.sha256,
        authKey: auth.key,
      },
    ],
    [
      'signed and encrypted',
      { name: 'drover', auth, priv: { protocol: 'aes', key: 'another password' } },
      {
        name: 'drover',
        level: snmp.SecurityLevel.authPriv,
        authProtocol: snmp.AuthProtocols.sha256,
        authKey: auth.key,
        privProtocol: snmp.PrivProtocols.aes,
        privKey: 'another password',
      },
    ],
  ]

  test.each(users)('says the same in version 3, %s', async (_how, user, known) => {
    const receiver = await trapReceiver(known)
    const heard = receiver.next()
    const connector = connectorTo(receiver.port, { version: '3', user, engineId })
    expect(await connector.send(noticeMessage(), never)).toEqual({ taken: true })
    const trap = await heard
    expect(trap.pdu.user).toBe('drover')
    expect(readable(trap).slice(2)).toEqual(objects)
  })

  test('is not believed in version 3 with another password', async () => {
    const receiver = await trapReceiver(users[1]?.[2])
    const heard = receiver.next()
    const user = { name: 'drover', auth: { protocol: 'sha256', key: 'a wrong password' } } as const
    await connectorTo(receiver.port, { version: '3', user, engineId }).send(noticeMessage(), never)
    await expect(heard).rejects.toThrow()
  })

  test('names in version 3 its own engine, and a time that goes on', async () => {
    const socket = createSocket('udp4')
    await new Promise<void>(resolve => socket.bind(0, '127.0.0.1', resolve))
    onTestFinished(() => void socket.close())
    const connector = connectorTo(socket.address().port, { version: '3', user: { name: 'drover' }, engineId })
    const times: number[] = []
    for (const at of [new Date('2026-03-01T10:00:00Z'), new Date('2026-03-01T10:10:00Z')]) {
      const heard = once(socket, 'message')
      await connector.send(noticeMessage({ at }), never)
      const datagram = ((await heard) as [Buffer])[0].toString('hex')
      // In BER the engine's id is followed by its boots and its time, both integers.
      const [, time] = new RegExp(`040b${engineId}0201010204([0-9a-f]{8})`).exec(datagram) ?? []
      times.push(Number.parseInt(time ?? '', 16))
    }
    expect(times[1]! - times[0]!).toBe(600)
  })

  test('is bounded, whatever the texts in it', async () => {
    const receiver = await trapReceiver()
    const heard = receiver.next()
    const body = noticeMessage().body.replace('ERROR_PROCESSING: 2, CANCELLED: 1', 'é'.repeat(10_000))
    await connectorTo(receiver.port, { version: '2c', community: 'herd' }).send(noticeMessage({ body }), never)
    expect(readable(await heard).at(-1)).toEqual([`${oid}.1.13.0`, 'é'.repeat(127)])
  })

  test('that cannot leave is refused with the reason', async () => {
    const connector = connectorTo(162, { version: '2c', community: 'herd' }, { host: 'no-such-host.invalid' })
    expect(await connector.send(noticeMessage(), never)).toMatchObject({
      taken: false,
      error: expect.stringContaining('the trap did not leave'),
    })
  })
})
