/** Where devices are, as it travels: of one, and counted. Additions of this service. It says what travels and decides nothing. */
import { type Static, Type } from 'typebox'

const instant = (description: string) => Type.String({ description: `${description}; empty: never` })

/** The answer of `GET …/devices/{identifier}/connection`. */
export const ConnectionView = Type.Object(
  {
    connected: Type.Boolean({ description: 'Whether it is connected over MQTT now' }),
    connectedDate: instant('When it last connected over MQTT'),
    disconnectedDate: instant('When its last connection ended'),
    seenDate: instant('When it was last heard of, connected or asking for work'),
  },
  { description: 'What is known of the connection of a device. Devices reached over HTTP have none' },
)
export type ConnectionView = Static<typeof ConnectionView>

/** The answer of `GET …/devices/connected`. */
export const ConnectedCount = Type.Object(
  {
    date: Type.String({ description: 'Of when these figures are' }),
    devices: Type.Integer({ description: 'Devices provisioned' }),
    connected: Type.Integer({ description: 'Of those, connected over MQTT' }),
    seenLately: Type.Integer({ description: 'Of those, connected or heard of in the last five minutes' }),
  },
  { description: 'How many devices are there' },
)
export type ConnectedCount = Static<typeof ConnectedCount>
