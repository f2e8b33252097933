/**
 * Where device messages travel: the paths of the device interface and the MQTT topics, written and read in one place.
 * It knows no host and opens no connection.
 */

/** The MQTT topics of a device, as `odm/<kind>/<device id>`. `request` goes to the device, all others come from it. */
export const DEVICE_TOPIC_KINDS = ['request', 'response', 'iot', 'dmm', 'operationOnDemand'] as const
export type DeviceTopicKind = (typeof DEVICE_TOPIC_KINDS)[number]

/** The topic of one kind for one device, such as `odm/request/d1`. Ask `fitsTopic` first: an id with a slash names another topic. */
export function deviceTopic(kind: DeviceTopicKind, deviceId: string): string {
  return `odm/${kind}/${deviceId}`
}

/** The filter that matches the topic of one kind for every device, such as `odm/response/+`. */
export function deviceTopicFilter(kind: DeviceTopicKind): string {
  return `odm/${kind}/+`
}

/** Which device a topic belongs to, and what it carries; undefined for a topic that is none of a device's. */
export function readDeviceTopic(topic: string): { kind: DeviceTopicKind; deviceId: string } | undefined {
  const [root, word, deviceId, ...rest] = topic.split('/')
  const kind = DEVICE_TOPIC_KINDS.find(known => known === word)
  if (root !== 'odm' || kind === undefined || deviceId === undefined || rest.length > 0) return undefined
  return fitsTopic(deviceId) ? { kind, deviceId } : undefined
}

/** Whether a device id can be one level of a topic; one that cannot is not reachable over MQTT. */
export function fitsTopic(deviceId: string): boolean {
  return deviceId !== '' && !/[/+#]/.test(deviceId) && !deviceId.includes(String.fromCharCode(0))
}

/** Where a device posts its acknowledgements, parts and final responses. Serves: Authentication and device-side endpoints. */
export function responsePath(deviceId: string): string {
  return `${devicePath(deviceId)}/operation/response`
}

/** Where a device asks for its next operation; `waitS` seconds, at most 60, hold the call open until there is one. */
export function pendingPath(deviceId: string, waitS?: number): string {
  return `${devicePath(deviceId)}/operation/pending${waitS === undefined ? '' : `?wait=${waitS}`}`
}

/** The path at which a device provisioned with an address alone is reached. */
export function requestPath(deviceId: string): string {
  return `${devicePath(deviceId)}/operation/request`
}

function devicePath(deviceId: string): string {
  return `/south/v80/devices/${encodeURIComponent(deviceId)}`
}
