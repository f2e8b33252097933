/** A name server on loopback over UDP that knows the names it is told, never answers for some, and books what it is asked. */
import { createSocket } from 'node:dgram'
import { onTestFinished } from 'vitest'

export interface NameServer {
  /** as configuration names it */
  readonly address: string
  /** names asked for, once for each query for IPv4 */
  readonly asked: string[]
}

/** What it says of a name: addresses, that there is none, or nothing ever; or nothing of IPv6 alone. */
export type Said = readonly string[] | 'silent' | 'silent about IPv6'

const [TYPE_A, TYPE_AAAA] = [1, 28]

/** Listens until `atEnd`, which is the end of the test if not told otherwise. A name it is told nothing of is unknown. */
export async function nameServer(
  say: (name: string) => Said | undefined,
  atEnd: (stop: () => void) => void = onTestFinished,
): Promise<NameServer> {
  const socket = createSocket('udp4')
  const asked: string[] = []
  socket.on('message', (message, { port, address }) => {
    const { name, type, question } = questionIn(message)
    if (type === TYPE_A) asked.push(name)
    const said = say(name)
    if (said === 'silent' || (said === 'silent about IPv6' && type === TYPE_AAAA)) return
    const known = said === 'silent about IPv6' ? ['127.0.0.1'] : said
    const addresses = (known ?? []).filter(each => each.includes(':') === (type === TYPE_AAAA))
    const head = Buffer.from(message.subarray(0, 12))
    head.writeUInt16BE(known === undefined ? 0x8183 : 0x8180, 2)
    head.writeUInt16BE(addresses.length, 6)
    head.writeUInt32BE(0, 8)
    socket.send(Buffer.concat([head, question, ...addresses.map(each => recordOf(type, each))]), port, address)
  })
  await new Promise<void>(resolve => socket.bind(0, '127.0.0.1', resolve))
  socket.unref()
  atEnd(() => void socket.close())
  return { address: `127.0.0.1:${socket.address().port}`, asked }
}

function questionIn(message: Buffer): { name: string; type: number; question: Buffer } {
  const labels: string[] = []
  let at = 12
  for (let length = message[at]!; length > 0; length = message[at]!) {
    labels.push(message.toString('latin1', at + 1, at + 1 + length))
    at += length + 1
  }
  return {
    name: labels.join('.').toLowerCase(),
    type: message.readUInt16BE(at + 1),
    question: message.subarray(12, at + 5),
  }
}

/** A record of the name in the question, good for a minute. */
function recordOf(type: number, address: string): Buffer {
  const data =
    type === TYPE_A
      ? Buffer.from(address.split('.').map(Number))
      : Buffer.from(address === '::1' ? `${'00'.repeat(15)}01` : address.replaceAll(':', ''), 'hex')
  const head = Buffer.alloc(12)
  head.writeUInt16BE(0xc00c, 0)
  head.writeUInt16BE(type, 2)
  head.writeUInt16BE(1, 4)
  head.writeUInt32BE(60, 6)
  head.writeUInt16BE(data.length, 10)
  return Buffer.concat([head, data])
}
