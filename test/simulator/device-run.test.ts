import { expect, test } from 'vitest'
import type { AnswerKind } from '../../src/simulator/behaviour.ts'
import { createDevices } from '../../src/simulator/device-run.ts'
import { createLedger } from '../../src/simulator/ledger.ts'
import { FLEET_DEFAULTS, type Flow } from '../../src/simulator/options.ts'
import { createPauses } from '../../src/simulator/pauses.ts'

const latency = { shape: 'uniform', minMs: 0, maxMs: 0 } as const
const request = { id: 'op-1', name: 'REBOOT_EQUIPMENT', deviceId: 'sim-0', parameters: {} }

/** What a device has said of its operation while none of it was acknowledged. */
function saidUnacknowledged(flow: Flow): AnswerKind[] {
  const fleet = { behaviour: { ...FLEET_DEFAULTS, latency, parts: 1 }, ledger: createLedger(FLEET_DEFAULTS) }
  const receive = createDevices({ ...fleet, pauses: createPauses(), onEvent: () => {} })
  const said: AnswerKind[] = []
  void receive('sim-0', flow, request, (_message, kind) => {
    said.push(kind)
    return new Promise(() => {})
  })
  return said
}

test('a device on MQTT says all it has to say in its order, without waiting for the acknowledgement of each', () => {
  expect(saidUnacknowledged('mqtt')).toEqual(['acknowledgement', 'part', 'final'])
})

test('over HTTP, which keeps no order between calls, a device waits for each answer before it says the next', () => {
  expect(saidUnacknowledged('http-async')).toEqual(['acknowledgement'])
})
