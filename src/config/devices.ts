/** What an operator may set of the way to devices over HTTP, and from those that ask for work. */

import { isRefusable } from '../connectors/address-guard.ts'
import { row } from './row.ts'
import { deviceUrlTemplate, listOf, longestMs, nameServer, type Parser, readableFile, wholeNumber } from './values.ts'

const hostOrNetwork: Parser<string> = value => {
  if (!isRefusable(value)) {
    throw new Error(`host names, addresses and networks such as 10.1.0.0/16, of which "${value}" is none`)
  }
  return value
}

export const deviceVariables = {
  pullRedeliveryMs: row(
    'DROVER_PULL_REDELIVERY_MS',
    '30000',
    wholeNumber(0, longestMs),
    'How long after it was handed to a device that asks for work an operation not heard of is offered again.',
  ),
  pullCallsMax: row(
    'DROVER_PULL_CALLS_MAX',
    '20000',
    wholeNumber(1, 1_000_000),
    'Devices whose call for work is held open at once; others are told by `Retry-After` when to come again.',
  ),
  deviceUrlTemplate: row(
    'DROVER_DEVICE_URL_TEMPLATE',
    'http://{address}:1123/south/v80/devices/{id}/operation/request',
    deviceUrlTemplate,
    'Where a device without a URL of its own is reached over HTTP.',
  ),
  deviceHostsRefused: row(
    'DROVER_DEVICE_HOSTS_REFUSED',
    null,
    listOf(hostOrNetwork),
    'Hosts and networks (`10.0.0.0/8`), separated by commas, at which no device is called.',
  ),
  httpsCaFile: row(
    'DROVER_HTTPS_CA_FILE',
    null,
    readableFile,
    'Certificates (PEM) of who signs those of devices and callbacks over HTTPS, trusted beside those of the system.',
  ),
  nameServers: row(
    'DROVER_NAME_SERVERS',
    null,
    listOf(nameServer),
    'Name servers (`10.0.0.2`, `10.0.0.2:5353`), separated by commas, asked for the hosts of devices and callbacks instead of those of the system.',
  ),
} as const
