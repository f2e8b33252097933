/**
 * The routes of the device interface: responses, pending requests and collected data. Each authenticates the device first, and
 * answers a success only after the commit. What a message does is the engine's to say.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { bearerToken } from '../contract/bearer.ts'
import { DeviceRequestMessage, DeviceResponseMessage, parseDeviceResponse } from '../contract/device.ts'
import { CollectDmmMessage, CollectIotMessage, readCollectDmm, readCollectIot } from '../contract/device-collect.ts'
import { reportIn, requestMessage } from '../contract/device-exchange.ts'
import { parseDeviceJson, type Reading, utf8Text } from '../contract/reading.ts'
import { DroverError } from '../domain/errors.ts'
import { invalidField } from '../domain/refusal.ts'
import { messageShares } from './message-shares.ts'
import { takeOwnMessage } from './own-messages.ts'
import type { SouthDevice, SouthParts } from './parts.ts'
import { heldPolls, readWait } from './polls.ts'

export interface SouthSettings {
  /** calls for pending requests that are open at once */
  readonly pollsMax?: number
}

type DeviceRequest = FastifyRequest<{ Params: { deviceId: string } }>

const tags = ['devices']
const params = Type.Object({ deviceId: Type.String() })
const nothing = (description: string) => Type.Null({ description })
/** The schemas tell devices what to send; the readers of the contract judge it. */
const validatorCompiler = () => () => true

const RESPONSE = {
  tags,
  summary: 'Acknowledge, report or end an operation',
  params,
  body: DeviceResponseMessage,
  response: { 200: nothing('Taken, also where it changed nothing') },
}
const PENDING = {
  tags,
  summary: 'Ask for the next operation',
  params,
  querystring: Type.Object({
    wait: Type.Optional(Type.String({ description: 'Seconds to wait for one, 0 to 60', pattern: '^\\d{1,9}$' })),
  }),
  response: { 200: DeviceRequestMessage, 204: nothing('Nothing to do') },
}
const OWN_MESSAGE = {
  tags,
  summary: 'Say something in a format of its own',
  description: 'The connector function of this route says which responses the message is; it may be any text.',
  params: Type.Object({ deviceId: Type.String(), route: Type.String() }),
  response: { 200: nothing('Taken, also where it meant nothing') },
}
const collecting = (summary: string, body: typeof CollectIotMessage | typeof CollectDmmMessage) => ({
  tags,
  summary,
  params,
  body,
  response: { 201: nothing('Kept') },
})

/** The south door as a plugin, to be registered under `/south/v80`. Serves: Authentication and device-side endpoints. */
export async function south(
  server: FastifyInstance,
  { parts, settings = {} }: { parts: SouthParts; settings?: SouthSettings },
): Promise<void> {
  const { access, answers, pending, presence, collection, bodyBytesMax, count, log } = parts
  const { pollsMax = 10_000 } = settings
  const devices = new WeakMap<FastifyRequest, SouthDevice>()
  const contentTypes = new WeakMap<FastifyRequest, string>()
  const polls = heldPolls(pollsMax)
  const messages = messageShares()

  server.removeAllContentTypeParsers()
  server.addContentTypeParser('*', { parseAs: 'buffer', bodyLimit: bodyBytesMax }, (_request, body, done) => {
    done(null, body)
  })
  server.addHook('preClose', async () => polls.end())

  // Before the body is read: who may not speak is not listened to.
  server.addHook('onRequest', async (request: DeviceRequest, reply) => {
    const device = await authenticated(request)
    if (device === undefined) {
      count('unauthorized')
      throw new DroverError('unauthorized')
    }
    if (request.method === 'POST') takeIn(device, reply)
    devices.set(request, device)
    const contentType = request.headers['content-type']
    if (contentType !== undefined) contentTypes.set(request, contentType)
    // Every body is read as JSON whatever its type says, also where it says nothing that is a type.
    request.headers['content-type'] = 'application/json'
  })

  /** Counts a message as in hand until its answer has left. */
  function takeIn({ entity }: SouthDevice, { raw }: FastifyReply): void {
    const done = messages.begin(entity)
    if (done === undefined) {
      count('too-many-messages')
      throw messages.refusal()
    }
    raw.once('close', done)
    if (raw.destroyed) done()
  }

  async function authenticated(request: DeviceRequest): Promise<SouthDevice | undefined> {
    const { deviceId } = request.params
    if (deviceId === undefined) return undefined
    const key = keyOf(request)
    if (key !== undefined) return access.authenticate(deviceId, key)
    const token = bearerToken(request.headers.authorization ?? '')
    return token === undefined ? undefined : access.byToken(deviceId, token)
  }

  const deviceOf = (request: FastifyRequest) => devices.get(request)!

  function accepted<T>(reading: Reading<T>): T {
    if (reading.ok) return reading.value
    count('unreadable-message')
    if (reading.field !== '') throw invalidField(reading.field, reading.reason)
    throw new DroverError(
      'malformed',
      [{ name: 'body', value: reading.reason }],
      `The body cannot be read: ${reading.reason}.`,
    )
  }

  const bodyOf = (request: FastifyRequest) => (request.body instanceof Uint8Array ? request.body : new Uint8Array())
  const messageOf = (request: FastifyRequest) => accepted(parseDeviceJson(bodyOf(request)))

  /** That the device was heard of is worth no failure of its call. */
  function noteSeen(device: SouthDevice): void {
    presence.seen(device).catch((error: unknown) => log.debug({ err: error }, 'presence was not recorded'))
  }

  server.post(
    '/devices/:deviceId/operation/response',
    { schema: RESPONSE, validatorCompiler },
    async (request, reply) => {
      const device = deviceOf(request)
      const text = utf8Text(bodyOf(request))
      const response = accepted(parseDeviceResponse(text))
      const { organization, deviceId, partition, entity } = device
      const answer = await answers.submit({ ...reportIn(response, text), organization, deviceId, partition, entity })
      if (answer === 'unknown') {
        count('unknown-operation')
        throw new DroverError('unknown', [{ name: 'operation.response.id', value: response.operationId }])
      }
      noteSeen(device)
      return reply.status(200).send()
    },
  )

  // A HEAD would hand out an operation and not deliver it.
  server.get(
    '/devices/:deviceId/operation/pending',
    { schema: PENDING, validatorCompiler, exposeHeadRoute: false },
    async (request, reply) => {
      const waitMs = readWait(queryOf(request).wait)
      const { entity } = deviceOf(request)
      const poll = polls.begin(entity)
      if (poll === undefined) {
        count('too-many-polls')
        throw polls.refusal()
      }
      const leave = () => poll.abort()
      reply.raw.once('close', leave)
      // A device that hung up while its key was looked up would otherwise be waited for, and be handed what the next call asks for.
      if (reply.raw.destroyed) leave()
      try {
        noteSeen(deviceOf(request))
        const operation = await pending.take(deviceOf(request), waitMs, poll.signal)
        if (operation === undefined) return reply.status(204).send()
        return reply.status(200).type('application/json').send(requestMessage(operation))
      } finally {
        reply.raw.off('close', leave)
        polls.finish(entity, poll)
      }
    },
  )

  const iot = collecting('Collect values of datastreams', CollectIotMessage)
  server.post('/devices/:deviceId/collect/iot', { schema: iot, validatorCompiler }, async (request, reply) => {
    await collection.iot(deviceOf(request), accepted(readCollectIot(messageOf(request))))
    noteSeen(deviceOf(request))
    return created(reply)
  })

  const dmm = collecting('Collect what the device is', CollectDmmMessage)
  server.post('/devices/:deviceId/collect/dmm', { schema: dmm, validatorCompiler }, async (request, reply) => {
    await collection.dmm(deviceOf(request), accepted(readCollectDmm(messageOf(request))))
    noteSeen(deviceOf(request))
    return created(reply)
  })

  server.post<{ Params: { route: string } }>(
    '/devices/:deviceId/:route',
    { schema: OWN_MESSAGE, validatorCompiler },
    async (request, reply) => {
      const device = deviceOf(request)
      const { route } = request.params
      const contentType = contentTypes.get(request)
      const message = {
        via: 'http',
        route,
        bytes: bodyOf(request),
        ...(contentType !== undefined && { contentType }),
      } as const
      const answer = await takeOwnMessage(parts, device, message).catch((error: unknown) => {
        if (error instanceof DroverError && error.entry.kind === 'invalid') count('unreadable-message')
        throw error
      })
      if (answer === 'unread') throw new DroverError('unknown', [{ name: 'path', value: route }])
      if (answer === 'unknown') throw new DroverError('unknown', [{ name: 'operation.response.id' }])
      noteSeen(device)
      return reply.status(200).send()
    },
  )
}

function created(reply: FastifyReply): FastifyReply {
  return reply.status(201).send()
}

function queryOf(request: FastifyRequest): Record<string, unknown> {
  return typeof request.query === 'object' && request.query !== null ? { ...request.query } : {}
}

/** The key in the header, or in the query where the header is missing. The name is read in any case, as a header's is. */
function keyOf(request: FastifyRequest): string | undefined {
  const header = request.headers['x-apikey']
  if (typeof header === 'string') return header
  const [, value] = Object.entries(queryOf(request)).find(([name]) => name.toLowerCase() === 'x-apikey') ?? []
  return typeof value === 'string' ? value : undefined
}
