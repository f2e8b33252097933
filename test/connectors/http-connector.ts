/** The HTTP connector as its tests make it. */
import { onTestFinished } from 'vitest'
import { addressRules } from '../../src/connectors/address-guard.ts'
import { httpConnector } from '../../src/connectors/http.ts'
import { type HttpHostsSettings, httpHosts } from '../../src/connectors/http-hosts.ts'
import type { SendReport } from '../../src/engine/connector.ts'
import { bookReports, request } from './requests.ts'

export const addresses = addressRules({ allowLoopback: true })

export function connector({ urlTemplate, ...settings }: Partial<HttpHostsSettings> & { urlTemplate?: string } = {}) {
  const made = httpConnector(httpHosts({ addresses, ...settings }), urlTemplate)
  onTestFinished(() => made.stop(0))
  return made
}

/** All reports of one request to a device at this URL. */
export async function exchangeWith(
  url: string,
  count = 2,
  settings: Partial<HttpHostsSettings> = {},
): Promise<SendReport[]> {
  const reports = bookReports()
  const asked = request({ url })
  reports.send(connector(settings), [asked])
  return reports.until(count, asked)
}
