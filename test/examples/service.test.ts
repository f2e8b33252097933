/** The examples that device developers start from, each against a whole service: run with the device's own key, seen to do an operation. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { expect, onTestFinished, test } from 'vitest'
import { isFinal, openHouse } from '../service/house.ts'

const house = await openHouse()
const STEPS = ['BEGINREBOOT', 'ENDREBOOT']

/** In a process group of its own, so that what a shell script started ends with it. */
function run(device: string, key: string, command: string, args: readonly string[]): ChildProcess {
  const child = spawn(command, args, {
    env: {
      ...process.env,
      DROVER_URL: house.url,
      MQTT_PORT: new URL(house.mqtt).port,
      DEVICE_ID: device,
      DROVER_API_KEY: key,
    },
    detached: true,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  onTestFinished(async () => {
    const ended = once(child, 'exit')
    process.kill(-child.pid!, 'SIGKILL')
    await ended
  })
  return child
}

async function expectsReboot(device: string): Promise<void> {
  for (const parameters of [{ type: 'HARDWARE' }, { type: 'SOFTWARE' }]) {
    const operation = await house.until(await house.start(device, { parameters }), isFinal)
    expect(operation).toMatchObject({ status: 'FINISHED', result: 'SUCCESSFUL', attempts: { current: 1 } })
    expect(operation.steps.map(({ name, result }) => `${name} ${result}`)).toEqual(
      STEPS.map(name => `${name} SUCCESSFUL`),
    )
  }
  const unknown = await house.until(await house.start(device, { name: 'FACTORY_RESET', parameters: {} }), isFinal)
  expect(unknown).toMatchObject({ status: 'FINISHED', result: 'NOT_SUPPORTED' })
}

const has = (command: string) => {
  const found = spawnSync(command, ['--help']).error === undefined
  if (!found) process.stdout.write(`${command} is not installed: its example is left out\n`)
  return found
}

test.for([
  ['in Node that asks', process.execPath, ['examples/device.mjs', 'pull'], []],
  ['in Python', 'python3', ['examples/device.py'], ['python3']],
  ['in shell with curl', 'sh', ['examples/device.sh'], ['curl']],
  ['in shell with the Mosquitto clients', 'sh', ['examples/device-mosquitto.sh'], ['mosquitto_sub', 'mosquitto_pub']],
] as const)('the device %s does its operations', async ([, command, args, needed], { skip }) => {
  if (!needed.every(has)) skip()
  const device = `example-${args[0].replace(/\W/g, '-')}`
  const key = await house.provision(device)
  run(device, key, command, args)
  await expectsReboot(device)
})

test('the device in Node that is reached by the service does its operations', async () => {
  const child = run('example-push', house.apiKey, process.execPath, ['examples/device.mjs', 'push', '0'])
  const [line] = await once(createInterface({ input: child.stdout! }), 'line')
  const [url] = /http:\S+/.exec(String(line))!
  await house.provision('example-push', { 'provision.device.operation.url': url })
  await expectsReboot('example-push')
})

test('the value that the example with curl collects is kept on its device', async ({ skip }) => {
  if (!has('curl')) skip()
  const key = await house.provision('example-collecting')
  run('example-collecting', key, 'sh', ['examples/device.sh'])
  await expect
    .poll(
      async () =>
        (
          await house.call('POST', '/north/v80/search/entities', {
            filter: { eq: { uptime: 1, 'provision.device.identifier': 'example-collecting' } },
          })
        ).status,
      { timeout: 60_000 },
    )
    .toBe(200)
})
