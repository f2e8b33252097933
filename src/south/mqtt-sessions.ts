/**
 * What the embedded broker remembers of its clients, in the shape that aedes asks for: the subscriptions of those that come back. It
 * keeps no message for anybody: what a device that is away shall do is the engine's to say when it returns.
 */
import { Readable } from 'node:stream'

/** Sessions remembered at most; the one longest unused is forgotten first, and its device subscribes again. */
export const SESSIONS_MAX = 100_000

interface Subscription {
  readonly topic: string
  readonly qos: number
}

interface SessionClient {
  readonly id: string
}

/** The session that a connection belongs to, by the id of its client; see `connectionClientId`. */
function sessionOf({ id }: SessionClient): string {
  return id.slice(id.indexOf('/') + 1)
}

/** The id under which the broker knows a connection: unlike any other connection's, with the session's key in it. */
export function connectionClientId(connection: number, session: string): string {
  return `${connection}/${session}`
}

/** Makes the memory of one broker. `keeps` says whether a client may have a subscription at all. */
export function mqttSessions(keeps: (client: SessionClient, topic: string) => boolean, sessionsMax = SESSIONS_MAX) {
  const sessions = new Map<string, Map<string, number>>()
  const incoming = new WeakMap<object, Set<number>>()

  const received = (client: object) => incoming.get(client) ?? new Set<number>()
  const found = (known: boolean) => (known ? Promise.resolve({}) : Promise.reject(new Error('no such packet')))

  function remember(client: SessionClient, subscriptions: Map<string, number>): void {
    const key = sessionOf(client)
    sessions.delete(key)
    if (subscriptions.size > 0) sessions.set(key, subscriptions)
    if (sessions.size > sessionsMax) sessions.delete(sessions.keys().next().value!)
  }

  return {
    async setup() {},

    async addSubscriptions(client: SessionClient, added: readonly Subscription[]) {
      const known = sessions.get(sessionOf(client)) ?? new Map<string, number>()
      for (const { topic, qos } of added) if (keeps(client, topic)) known.set(topic, qos)
      remember(client, known)
    },
    async removeSubscriptions(client: SessionClient, topics: readonly string[]) {
      const known = sessions.get(sessionOf(client)) ?? new Map<string, number>()
      for (const topic of topics) known.delete(topic)
      remember(client, known)
    },
    async subscriptionsByClient(client: SessionClient): Promise<Subscription[]> {
      const known = sessions.get(sessionOf(client)) ?? new Map<string, number>()
      remember(client, known)
      return [...known].map(([topic, qos]) => ({ topic, qos }))
    },
    async cleanSubscriptions(client: SessionClient) {
      sessions.delete(sessionOf(client))
    },

    // The handshake of QoS 2 needs the number of a message until the device releases it; the message itself is taken by then.
    async incomingStorePacket(client: object, packet: { messageId: number }) {
      const numbers = received(client)
      numbers.add(packet.messageId)
      incoming.set(client, numbers)
    },
    incomingGetPacket: (client: object, packet: { messageId: number }) => found(received(client).has(packet.messageId)),
    incomingDelPacket: (client: object, packet: { messageId: number }) =>
      found(received(client).delete(packet.messageId)),
    async cleanIncoming(client: object) {
      incoming.delete(client)
    },

    // Nothing is retained, kept for the absent, or left as a will.
    async storeRetained() {},
    createRetainedStreamCombi: () => Readable.from([]),
    async subscriptionsByTopic() {
      return []
    },
    async outgoingEnqueue() {},
    async outgoingEnqueueCombi() {},
    async outgoingUpdate() {},
    async outgoingClearMessageId() {},
    outgoingStream: () => Readable.from([]),
    async putWill() {},
    async delWill() {},
    streamWill: () => Readable.from([]),
  }
}
