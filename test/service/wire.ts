/** A wire between clients and a server, in the hands of a test: what the server says can be delayed, and everybody cut off at once. */
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

export interface Wire {
  /** of the server's scheme, and leading to it */
  readonly url: string
  /** how long what the server says is on its way */
  delayMs: number
  /** whether nobody gets through */
  isBroken: boolean
  /** connections there are */
  readonly count: number
  /** cuts all connections, without a word */
  cut(): void
  close(): void
}

/** Draws a wire to a server on this machine. */
export async function drawWire(to: string): Promise<Wire> {
  const { protocol, port } = new URL(to)
  const pairs = new Set<readonly [Socket, Socket]>()
  const server = createServer(client => {
    if (wire.isBroken) return void client.destroy()
    const upstream = connect(Number(port), '127.0.0.1')
    const pair = [client, upstream] as const
    pairs.add(pair)
    const end = () => {
      pairs.delete(pair)
      for (const socket of pair) socket.destroy()
    }
    for (const socket of pair) socket.setNoDelay(true).on('error', end).on('close', end)
    client.pipe(upstream)
    upstream.on('data', chunk => {
      if (wire.delayMs > 0) setTimeout(() => client.write(chunk), wire.delayMs)
      else client.write(chunk)
    })
  })
  server.listen({ port: 0, host: '127.0.0.1', backlog: 4096 })
  await once(server, 'listening')
  const wire = {
    url: `${protocol}//127.0.0.1:${(server.address() as AddressInfo).port}`,
    delayMs: 0,
    isBroken: false,
    get count() {
      return pairs.size
    },
    cut() {
      for (const sockets of [...pairs]) for (const socket of sockets) socket.resetAndDestroy()
    },
    close() {
      server.close()
      wire.cut()
    },
  }
  return wire
}
