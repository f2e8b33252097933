/**
 * A fleet of pretend devices as a library: opened, it listens and its devices can be provisioned; connected, they are all up; stopped,
 * nothing of it is left. It speaks to the service as devices do and knows nothing else of it.
 */
import { createDevices, type FleetEvent } from './device-run.ts'
import { type FleetDevice, fleetDevices } from './devices.ts'
import { listenForRequests } from './http-devices.ts'
import { createLedger, type FleetCounters, type RememberedOperation } from './ledger.ts'
import { createMqttDevices } from './mqtt-devices.ts'
import { completeOptions, type FleetRequest } from './options.ts'
import { createPauses } from './pauses.ts'
import { createPullDevices } from './pull-devices.ts'
import { openService } from './service.ts'

/** A fleet that listens. */
export interface Fleet {
  /** Where the HTTP devices listen, such as `http://127.0.0.1:40123`. */
  url: string
  /** Every device, to be provisioned before `connect`. */
  devices: FleetDevice[]
  /** Live counts; read them at any time. */
  counters: Readonly<FleetCounters>
  /** What is remembered of an operation: how often its request came and how often it was done. */
  operation(
    operationId: string,
  ): Readonly<Pick<RememberedOperation, 'deviceId' | 'name' | 'receipts' | 'executions'>> | undefined
  /**
   * Switches all devices on; resolves with true when each is up, with false when the fleet was stopped before.
   * Rejects when some are not up within `readyWithinMs`.
   */
  connect(): Promise<boolean>
  /** Switches all devices off and closes every connection. May be called at any time, and twice. */
  stop(): Promise<void>
}

/** Called at each thing that happens at a device, before it goes on. Must not throw. */
export type OnOperation = (event: FleetEvent) => void

/**
 * Opens a fleet: the HTTP devices listen, nothing is connected yet. Throws a RangeError naming the option that is out of bounds;
 * rejects when the port is taken.
 */
export async function openFleet(request: FleetRequest, onOperation: OnOperation = () => undefined): Promise<Fleet> {
  const options = completeOptions(request)
  const pauses = createPauses()
  const ledger = createLedger(options)
  const receive = createDevices({ behaviour: options, ledger, pauses, onEvent: onOperation })
  const service = openService(options, pauses)
  const http = await listenForRequests(options, { ledger, receive, service })
  const mqtt = createMqttDevices(options, { ledger, receive, pauses })
  const pull = createPullDevices(options, { ledger, receive, service, pauses })
  const devices = fleetDevices(options, http.url)
  let stopping: Promise<unknown> | undefined
  return {
    url: http.url,
    devices,
    counters: ledger.counters,
    operation: id => ledger.find(id),
    async connect() {
      http.connect(devices)
      const up = Promise.all([mqtt.connect(devices), pull.connect(devices)]).then(() => true)
      const tooLate = pauses.pause(options.readyWithinMs).then(() => pauses.stopped)
      if (await Promise.race([up, tooLate])) return !pauses.stopped
      const wanted = devices.filter(({ flow }) => flow === 'mqtt').length
      throw new Error(
        `not all devices are up after ${options.readyWithinMs} ms: ${ledger.counters.connected} of ${wanted} are connected over MQTT`,
      )
    },
    async stop() {
      pauses.stop()
      stopping ??= Promise.all([http.stop(), mqtt.stop(), service.close()])
      await stopping
    },
  }
}
