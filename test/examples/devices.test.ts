import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type Arrival, type FakeService, openFakeService } from '../simulator/fake-service.ts'

let service: FakeService
let children: ChildProcess[]

beforeEach(async () => {
  service = await openFakeService()
  children = []
})

afterEach(async () => {
  for (const child of children) process.kill(-child.pid!, 'SIGKILL')
  await service.close()
})

/** In a process group of its own, so that what a shell script started ends with it. */
function run(command: string, ...args: string[]): ChildProcess {
  const env = {
    ...process.env,
    DROVER_URL: service.url,
    MQTT_PORT: new URL(service.mqtt).port,
    DEVICE_ID: 'd1',
    DROVER_API_KEY: 'key',
  }
  const child = spawn(command, args, { env, detached: true, stdio: ['ignore', 'pipe', 'inherit'] })
  children.push(child)
  return child
}

const has = (command: string) => spawnSync(command, ['--help']).error === undefined
const words = (arrivals: Arrival[]) =>
  arrivals.map(({ response }) => [response.resultCode ?? '', ...response.steps.map(({ name }) => name)].join(' '))
const reboot = [' BEGINREBOOT', 'SUCCESSFUL ENDREBOOT']

describe.each([
  ['in Node', process.execPath, ['examples/device.mjs', 'pull']],
  ['in Python', 'python3', ['examples/device.py']],
  ['in shell with curl', 'sh', ['examples/device.sh']],
])('the example of a pull device %s', (_, command, args) => {
  const isThere = has(command) && (command !== 'sh' || has('curl'))

  test.runIf(isThere)('reboots step by step, answers a repeat, and refuses what it does not know', async () => {
    run(command, ...args)
    const parameters = { type: 'HARDWARE', note: { name: 'x', id: 'y' } }
    service.leave('d1', 'op-1', 'REBOOT_EQUIPMENT', parameters)
    service.leave('d1', 'op-1', 'REBOOT_EQUIPMENT', parameters)
    service.leave('d1', 'op-2', 'MAKE_COFFEE')
    expect(words(await service.arrived('op-2', 1))).toEqual(['NOT_SUPPORTED'])
    expect(words(await service.arrived('op-1', 3))).toEqual([...reboot, 'SUCCESSFUL ENDREBOOT'])
  })
})

test.runIf(has('python3'))('the example in Python reads back the parameters that were set', async () => {
  run('python3', 'examples/device.py')
  service.leave('d1', 'op-1', 'SET_DEVICE_PARAMETERS', { variableList: [{ name: 'interval', value: 5 }] })
  service.leave('d1', 'op-2', 'GET_DEVICE_PARAMETERS', { variableList: ['interval'] })
  const [read] = await service.arrived('op-2', 1)
  expect(read?.response.variableList).toEqual([{ name: 'interval', value: 5 }])
})

test('the example in Node that is reached by the service acknowledges and then reports', async () => {
  const child = run(process.execPath, 'examples/device.mjs', 'push', '0')
  const [line] = await once(createInterface({ input: child.stdout! }), 'line')
  const url = /http:\S+/.exec(String(line))![0]
  const { status, response } = await service.push(url, 'd1', 'op-1', 'REBOOT_EQUIPMENT')
  expect([status, response.resultCode]).toEqual([201, undefined])
  expect(words(await service.arrived('op-1', 3)).slice(1)).toEqual(reboot)
})

const hasMosquitto = has('mosquitto_sub') && has('mosquitto_pub')
if (!hasMosquitto) process.stdout.write('skipped without the Mosquitto clients: the example of an MQTT device\n')

test.runIf(hasMosquitto)(
  'the example of an MQTT device with the Mosquitto clients acknowledges, reports, and ends',
  async () => {
    run('sh', 'examples/device-mosquitto.sh')
    await service.subscribed('d1')
    await service.publish('d1', 'op-1', 'REBOOT_EQUIPMENT', { type: 'HARDWARE' })
    expect(words(await service.arrived('op-1', 3))).toEqual(['', ...reboot])
    await service.publish('d1', 'op-2', 'MAKE_COFFEE')
    expect(words(await service.arrived('op-2', 1))).toEqual(['NOT_SUPPORTED'])
  },
)
