/**
 * The devices of a fleet by name, before any of them is switched on, so that whoever wants to can provision them.
 */
import { type FleetOptions, type Flow, flowPattern } from './options.ts'

/** A pretend device: its id, how it is reached, and the tags under which its fleet can be targeted. */
export interface FleetDevice {
  id: string
  flow: Flow
  /** Where the service reaches it; of HTTP devices only. */
  url?: string
  /** The prefix, and the prefix with the flow: `sim`, `sim-mqtt`. */
  tags: string[]
}

/** The path at which the HTTP devices are reached, below the fleet's own address. */
export function devicePath(id: string): string {
  return `/devices/${encodeURIComponent(id)}/operation/request`
}

/** The devices in order of their index; `listenUrl` is where the HTTP devices listen, without a slash at its end. */
export function fleetDevices(
  options: Pick<FleetOptions, 'devices' | 'flows' | 'prefix'>,
  listenUrl: string,
): FleetDevice[] {
  const pattern = flowPattern(options.flows)
  return Array.from({ length: options.devices }, (_, index) => {
    const id = `${options.prefix}-${index}`
    const flow = pattern[index % pattern.length]!
    const tags = [options.prefix, `${options.prefix}-${flow}`]
    return flow === 'http-sync' || flow === 'http-async'
      ? { id, flow, url: `${listenUrl}${devicePath(id)}`, tags }
      : { id, flow, tags }
  })
}

/**
 * What a device says of itself when it is provisioned, in the flattened form of the north interface; one element of the list that
 * the bulk call takes. Serves: Authentication and device-side endpoints.
 */
export function provisioningOf(device: FleetDevice, organization: string): Record<string, unknown> {
  const values: Record<string, unknown> = {
    resourceType: 'entity.device',
    'provision.device.identifier': device.id,
    'provision.administration.organization': organization,
    'provision.administration.tags': device.tags,
    'provision.device.operation.flow': device.flow.startsWith('http') ? 'http' : device.flow,
    'provision.device.operation.url': device.url,
  }
  return Object.fromEntries(
    Object.entries(values)
      .filter(([, value]) => value !== undefined)
      .map(([id, value]) => [id, { _value: { _current: { value } } }]),
  )
}
