/** Builds the way to and from devices over MQTT: the embedded broker, or a connection to the operator's own. Decides nothing. */
import { randomBytes } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { hostname } from 'node:os'
import type { Logger } from 'pino'
import type { Config } from '../config/config.ts'
import { brokerRefusals } from '../connectors/broker-refusals.ts'
import { embeddedLink, type MqttDevice, type MqttLink, mqttConnector } from '../connectors/mqtt.ts'
import { type KeptMqttClient, keepMqttClient } from '../connectors/mqtt-client.ts'
import { externalLink } from '../connectors/mqtt-link.ts'
import type { Connector } from '../engine/connector.ts'
import type { DeviceNames } from '../engine/device-names.ts'
import { type MqttBroker, openMqttBroker } from '../south/mqtt-broker.ts'
import { type MqttSubscriber, mqttSubscriber } from '../south/mqtt-subscriber.ts'
import type { SouthParts } from '../south/parts.ts'

export interface Mqtt {
  readonly connector: Connector
  /** for who prepares payloads of its own */
  readonly link: MqttLink
  /** Lets devices in, where this process is a south; answers the port of the embedded broker, null without one. */
  open(parts: SouthParts): Promise<number | null>
  /** ends the connections of devices whose keys were ended, or that are gone */
  disconnect(devices: readonly { readonly entity: bigint }[]): void
  /** takes no message any more */
  stopTaking(graceMs: number): Promise<void>
  close(): Promise<void>
}

/** Makes the way; nothing is opened before `open`. */
export function createMqtt(parts: {
  readonly config: Config
  readonly log: Logger
  readonly node: number
  readonly names: DeviceNames
  /** told of each request that an external broker refuses, by the number of the reason */
  readonly countRefused: (reason: number) => void
}): Mqtt {
  return parts.config.mqttUrl === null ? embeddedMqtt(parts) : externalMqtt(parts, parts.config.mqttUrl)
}

type MqttParts = Parameters<typeof createMqtt>[0]

function embeddedMqtt({ config, node }: MqttParts): Mqtt {
  let broker: MqttBroker | undefined
  const link = embeddedLink(() => broker)
  return {
    link,
    connector: mqttConnector(link),
    async open(parts) {
      if (!config.roles.includes('south')) return null
      const tls = await certificateOf(config)
      broker = await openMqttBroker(parts, {
        node: String(node),
        host: config.host,
        port: config.mqttPort,
        ...(tls && { tls }),
      })
      return broker.port
    },
    disconnect: devices => broker?.disconnect(devices),
    stopTaking: async graceMs => broker?.stop(graceMs),
    close: async () => {},
  }
}

async function certificateOf({ mqttTlsCertFile, mqttTlsKeyFile }: Config) {
  if (mqttTlsCertFile === null || mqttTlsKeyFile === null) return undefined
  const [cert, key] = await Promise.all([readFile(mqttTlsCertFile, 'utf8'), readFile(mqttTlsKeyFile, 'utf8')])
  return { cert, key }
}

function externalMqtt({ config, log, names, countRefused }: MqttParts, url: string): Mqtt {
  let kept: KeptMqttClient | undefined
  let subscriber: MqttSubscriber | undefined
  const link = externalLink({
    kept: { live: () => kept?.live() },
    refusals: brokerRefusals(log, { count: countRefused }),
    isOnlyOne: device => isOnlyOne(names, device),
  })
  return {
    link,
    connector: mqttConnector(link),
    async open(parts) {
      if (config.roles.includes('south')) {
        subscriber = mqttSubscriber(parts, deviceId => names.find(deviceId), { shared: config.mqttShared })
      }
      const user = {
        onOpen: subscriber?.onOpen ?? (() => {}),
        onConnect: subscriber?.onConnect ?? (() => {}),
      }
      const certificates = config.mqttCaFile === null ? [] : [await readFile(config.mqttCaFile, 'utf8')]
      kept = keepMqttClient({ url, clientId: config.mqttClientId ?? ownClientId(config), certificates }, user, log)
      return null
    },
    disconnect: () => {},
    stopTaking: async graceMs => subscriber?.stop(graceMs),
    close: async () => kept?.stop(),
  }
}

/** Whether the device is the only one of its id, in any organization. */
async function isOnlyOne(names: DeviceNames, { deviceId, entity }: MqttDevice): Promise<boolean> {
  const known = await names.find(deviceId)
  if (known === undefined || known.entity === entity) return known !== undefined
  // What is remembered may have been deleted meanwhile, and made anew.
  names.forget([known])
  return (await names.find(deviceId))?.entity === entity
}

/** The same at every start where the port is: the broker then keeps what came while the process was away. */
function ownClientId({ port, roles }: Config): string {
  const own = port === 0 ? randomBytes(6).toString('hex') : String(port)
  return `drover-${hostname()}-${own}-${roles.join('-')}`
}
