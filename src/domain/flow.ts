/** Which way a device is reached. Serves: Device-side exchange flows. */

/** The ways to a device. */
export const FLOWS = ['http', 'mqtt', 'pull', 'function'] as const
export type Flow = (typeof FLOWS)[number]

/** What the choice depends on. */
export interface Reachability {
  /** as provisioned: `http`, `mqtt`, `pull` or `function:<name>`; null leaves the choice to the service */
  readonly flow: string | null
  readonly mqttConnected: boolean
  /** whether the device has a URL or an address */
  readonly addressed: boolean
}

/** The device's own flow, else MQTT while it is connected there, else HTTP where it can be addressed, else pull. */
export function chooseFlow({ flow, mqttConnected, addressed }: Reachability): Flow {
  if (flow?.startsWith('function:')) return 'function'
  const chosen = FLOWS.find(each => each === flow)
  if (chosen) return chosen
  if (mqttConnected) return 'mqtt'
  return addressed ? 'http' : 'pull'
}

/** How a device is provisioned to be reached. */
export interface Provisioned {
  readonly flow: string | null
  readonly url: string | null
  readonly address: string | null
}

/** Whether a device is reached over HTTP from now on, where it was not or elsewhere: then it is there, and nothing waits for it. */
export function isReachedAnew(before: Provisioned, now: Provisioned): boolean {
  const addressed = now.url !== null || now.address !== null
  if (chooseFlow({ flow: now.flow, mqttConnected: false, addressed }) !== 'http') return false
  return before.flow !== now.flow || before.url !== now.url || before.address !== now.address
}

/** The connector function a flow names, if it names one. */
export function functionOf(flow: string | null): string | undefined {
  return flow?.startsWith('function:') ? flow.slice('function:'.length) : undefined
}
