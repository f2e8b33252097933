/** The rules that the operating page gives for Mosquitto, run on a Mosquitto: each device holds to its own topics, Drover serves them all. */
import { spawnSync } from 'node:child_process'
import { readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { connectAsync, type MqttClient } from 'mqtt'
import { describe, expect, onTestFinished, test } from 'vitest'
import { createMosquitto, mosquittoProgram } from './mosquitto.ts'
import { notes } from './parts.ts'

const page = path.resolve(import.meta.dirname, '../../docs/operating/mqtt.md')
const hasPasswords = spawnSync('mosquitto_passwd', ['-h']).error === undefined
const USERS = ['drover', 'pump-1', 'pump-2']
const key = (user: string) => `key-of-${user}`

/** The block of the page that begins so. */
async function shown(beginning: string): Promise<string> {
  const blocks = (await readFile(page, 'utf8')).split(/```(?:conf)?\n/)
  return blocks.find(block => block.startsWith(beginning))!
}

async function open(): Promise<string> {
  const configured = await shown('# mosquitto.conf')
  const broker = await createMosquitto(mosquittoProgram!, async folder => {
    const [acl, passwords] = [path.join(folder, 'acl'), path.join(folder, 'passwords')]
    await writeFile(acl, await shown('# acl'))
    await writeFile(passwords, USERS.map(user => `${user}:${key(user)}`).join('\n'))
    expect(spawnSync('mosquitto_passwd', ['-U', passwords]).status).toBe(0)
    // The page's own lines, but for where files lie and how it listens here.
    return configured
      .split('\n')
      .filter(line => !/^(listener|certfile|keyfile|persistence|autosave)/.test(line))
      .map(line =>
        line.replace(/^(acl_file|password_file) .*/, (_, word) => `${word} ${word === 'acl_file' ? acl : passwords}`),
      )
  })
  onTestFinished(() => broker.remove())
  await broker.start()
  return broker.url
}

async function connect(url: string, username: string, password = key(username)): Promise<MqttClient> {
  const client = await connectAsync(url, { username, password, reconnectPeriod: 0, protocolVersion: 5 })
  onTestFinished(() => void client.end(true))
  return client
}

describe.skipIf(mosquittoProgram === undefined || !hasPasswords)('with the rules of the page', () => {
  test('nobody comes in without a key of their own', async () => {
    const url = await open()
    await expect(connect(url, 'pump-1', 'wrong')).rejects.toThrow()
    await expect(connect(url, 'stranger', 'wrong')).rejects.toThrow()
    await expect(connectAsync(url, { reconnectPeriod: 0 })).rejects.toThrow()
  })

  test('Drover hears every device and reaches each; no device hears or reaches another', async () => {
    const url = await open()
    const [drover, own, other] = await Promise.all(USERS.map(user => connect(url, user)))
    const [heardByDrover, heardByOwn, heardByOther] = [notes<string>(), notes<string>(), notes<string>()]
    drover!.on('message', (topic, payload) => heardByDrover.add(`${topic} ${payload}`))
    own!.on('message', (topic, payload) => heardByOwn.add(`${topic} ${payload}`))
    other!.on('message', (topic, payload) => heardByOther.add(`${topic} ${payload}`))
    for (const kind of ['response', 'iot', 'dmm', 'operationOnDemand']) {
      await drover!.subscribeAsync(`$share/drover/odm/${kind}/+`, { qos: 1 })
    }
    await own!.subscribeAsync('odm/request/pump-1', { qos: 1 })
    await other!.subscribeAsync('odm/request/pump-2', { qos: 1 })
    // Mosquitto grants any subscription and delivers only what may be read.
    for (const topic of ['odm/request/pump-1', 'odm/request/+', '#', '$share/drover/odm/response/+']) {
      await other!.subscribeAsync(topic, { qos: 1 }).catch(() => {})
    }
    // What another may not say is acknowledged with a refusal or in silence, and reaches nobody.
    for (const topic of ['odm/response/pump-1', 'odm/request/pump-1', 'odm/iot/pump-1']) {
      await other!.publishAsync(topic, 'forged', { qos: 1 }).catch(() => {})
    }
    await drover!.publishAsync('odm/request/pump-1', 'to one', { qos: 1 })
    expect(await heardByOwn.until(1)).toEqual(['odm/request/pump-1 to one'])
    for (const kind of ['response', 'iot', 'dmm', 'operationOnDemand']) {
      await own!.publishAsync(`odm/${kind}/pump-1`, 'from one', { qos: 1 })
    }
    expect((await heardByDrover.until(4)).sort()).toEqual([
      'odm/dmm/pump-1 from one',
      'odm/iot/pump-1 from one',
      'odm/operationOnDemand/pump-1 from one',
      'odm/response/pump-1 from one',
    ])
    await drover!.publishAsync('odm/request/pump-2', 'to the other', { qos: 1 })
    await heardByOther.until(1)
    expect(new Set(heardByOther.all)).toEqual(new Set(['odm/request/pump-2 to the other']))
    expect(heardByOwn.all).toHaveLength(1)
  })
})
