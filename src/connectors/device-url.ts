/**
 * Where an HTTP device is reached: its provisioned URL, or the template filled with its address. Refuses to open a connection.
 */
import { isIP } from 'node:net'
import type { DeviceAddress } from '../engine/connector.ts'

/** Where a device is reached that has an address and no URL. `{address}` and `{id}` are filled in. */
export const DEVICE_URL_TEMPLATE = 'http://{address}:1123/south/v80/devices/{id}/operation/request'

/** A URL to post to, or why there is none. */
export type DeviceUrl = { readonly url: URL } | { readonly fault: string }

/** The URL of a device. Serves: Device-side exchange flows. */
export function deviceUrl(device: DeviceAddress, template: string): DeviceUrl {
  if (device.url !== undefined) return checked(device.url, 'the URL of the device')
  const { address, deviceId } = device
  if (address === undefined) return { fault: 'the device has neither a URL nor an address' }
  const host = isIP(address) === 6 ? `[${address}]` : address
  // Anything but a host would let an address choose the port and path of the request.
  if (isIP(address) === 0 && !/^[a-z0-9._-]{1,253}$/i.test(address)) {
    return { fault: 'the address of the device is neither a host name nor an IP address' }
  }
  const filled = template.replaceAll('{address}', host).replaceAll('{id}', encodeURIComponent(deviceId))
  return checked(filled, 'the URL made of the address of the device')
}

function checked(text: string, what: string): DeviceUrl {
  const url = URL.parse(text)
  if (url === null) return { fault: `${what} is not a URL` }
  if (url.protocol !== 'http:' && url.protocol !== 'https:') return { fault: `${what} is neither http nor https` }
  if (url.username !== '' || url.password !== '') return { fault: `${what} must not hold a user name or password` }
  return { url }
}
