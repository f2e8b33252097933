/**
 * One address in front of several nodes, as a load balancer gives it: each connection goes to the next node that takes it. It looks
 * into nothing and repeats nothing; what a dead node had in hand is lost to the caller.
 */

import type { AddressInfo } from 'node:net'
import { connect, createServer, type Socket } from 'node:net'

export interface Balancer {
  /** `http://127.0.0.1:…` */
  readonly url: string
  readonly port: number
  /** Cuts every connection there is now, and answers how many; new ones are taken. */
  cut(): number
  /** The longest, in milliseconds, that a connection joined between two instants had waited for a node to take it. */
  slowestJoinMs(fromMs: number, toMs: number): number
  close(): void
}

/** A loaded machine drops a connect to a full queue, and it is tried again after a second, after three, and after seven. */
const SLOW_JOIN_MS = 200

/** Balances over the ports on loopback, on a port of its own or on `at`. The caller closes it. */
export async function openBalancer(ports: readonly number[], at = 0): Promise<Balancer> {
  const sockets = new Set<Socket>()
  const slowJoins: { readonly at: number; readonly waitedMs: number }[] = []
  let turn = 0

  function keep(socket: Socket): Socket {
    sockets.add(socket)
    return socket.once('close', () => sockets.delete(socket))
  }

  function join(client: Socket, triesLeft: number, since = Date.now()): void {
    turn = (turn + 1) % ports.length
    const node = keep(connect(ports[turn]!, '127.0.0.1'))
    let joined = false
    node.once('connect', () => {
      joined = true
      const at = Date.now()
      if (at - since > SLOW_JOIN_MS) slowJoins.push({ at, waitedMs: at - since })
      client.pipe(node).pipe(client)
    })
    node.on('error', () => {})
    node.once('close', () => {
      if (!joined && triesLeft > 1 && !client.destroyed) join(client, triesLeft - 1, since)
      else client.destroy()
    })
    client.once('close', () => node.destroy())
  }

  const server = createServer(client => {
    keep(client).on('error', () => {})
    join(client, ports.length)
  })
  await new Promise<void>(resolve => server.listen(at, '127.0.0.1', 4_096, resolve))
  const { port } = server.address() as AddressInfo

  function cut(): number {
    const open = [...sockets]
    for (const socket of open) socket.destroy()
    return open.length / 2
  }

  return {
    url: `http://127.0.0.1:${port}`,
    port,
    cut,
    slowestJoinMs: (fromMs, toMs) =>
      slowJoins.reduce((most, { at, waitedMs }) => (at > fromMs && at <= toMs ? Math.max(most, waitedMs) : most), 0),
    close() {
      server.close()
      cut()
    },
  }
}
