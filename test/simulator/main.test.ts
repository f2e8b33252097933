import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface, type Interface } from 'node:readline'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type FakeService, openFakeService } from './fake-service.ts'

let service: FakeService
let child: ChildProcess
let lines: AsyncIterator<string>

beforeEach(async () => {
  service = await openFakeService()
})

afterEach(async () => {
  child.kill('SIGKILL')
  await service.close()
})

function simulate(options: readonly string[], apiKey = 'key'): void {
  child = spawn(process.execPath, ['src/simulator/main.ts', ...options], {
    env: { ...process.env, DROVER_API_KEY: apiKey },
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const reader: Interface = createInterface({ input: child.stdout! })
  lines = reader[Symbol.asyncIterator]()
}

async function nextLine(): Promise<Record<string, Record<string, unknown>>> {
  const { value } = await lines.next()
  return JSON.parse(value)
}

const fleetOptions = (...more: string[]) => ['--url', service.url, '--mqtt', service.mqtt, '--devices', '8', ...more]

describe('the simulator as a process', () => {
  test('says where it listens, then that all devices are up, and its counters when it is told to end', async () => {
    simulate(fleetOptions('--latency', '10', '--pull-wait', '1'))
    const { listening } = await nextLine()
    expect(listening).toEqual({ url: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+$/), devices: 8 })
    const { ready } = await nextLine()
    expect(ready).toEqual({
      url: listening?.url,
      devices: 8,
      flows: { mqtt: 2, 'http-sync': 2, 'http-async': 2, pull: 2 },
    })
    await service.push(`${ready?.url}/devices/sim-1/operation/request`, 'sim-1', 'op-1', 'REBOOT_EQUIPMENT')
    child.kill('SIGTERM')
    const { stopped } = await nextLine()
    expect(stopped).toMatchObject({ received: 1, executed: 1, finals: 1, connected: 0 })
    expect(await once(child, 'exit')).toEqual([0, null])
  })

  test('waits for a line before it connects, and ends with its parent', async () => {
    simulate(fleetOptions('--hold', '--exit-with-parent'))
    expect(await nextLine()).toHaveProperty('listening')
    child.stdin?.write('connect\n')
    expect(await nextLine()).toHaveProperty('ready')
    child.stdin?.end()
    expect(await nextLine()).toHaveProperty('stopped')
    expect(await once(child, 'exit')).toEqual([0, null])
  })

  test('ends when told to while its devices are still refused', async () => {
    simulate(fleetOptions(), 'wrong')
    expect(await nextLine()).toHaveProperty('listening')
    child.kill('SIGINT')
    expect(await nextLine()).toHaveProperty('stopped')
    expect(await once(child, 'exit')).toEqual([0, null])
  })

  test('lists what provisions its devices in bulk', async () => {
    simulate(fleetOptions('--list', '--listen-port', '7000', '--organization', 'acme'), '')
    const { entities } = await nextLine()
    const values = Object.values(entities ?? {}).map(entity =>
      Object.fromEntries(
        Object.entries(entity as Record<string, { _value: { _current: { value: unknown } } }>).map(([id, box]) => [
          id,
          box._value._current.value,
        ]),
      ),
    )
    expect(values).toHaveLength(8)
    expect(values[1]).toEqual({
      resourceType: 'entity.device',
      'provision.device.identifier': 'sim-1',
      'provision.administration.organization': 'acme',
      'provision.administration.tags': ['sim', 'sim-http-sync'],
      'provision.device.operation.flow': 'http',
      'provision.device.operation.url': 'http://127.0.0.1:7000/devices/sim-1/operation/request',
    })
  })

  test('ends with 2 and the reason when an option is out of bounds', async () => {
    simulate(fleetOptions('--fail', '7'))
    expect(await nextLine()).toEqual({ failed: { reason: 'fail must be a number from 0 to 1, not 7' } })
    expect(await once(child, 'exit')).toEqual([2, null])
  })
})
