/** A running service whose devices and receivers of callbacks have names, some of them such that no name server answers for them. */
import { afterAll, expect, test } from 'vitest'
import { createCallbackReceiver } from '../callback-receiver.ts'
import { nameServer } from '../name-server.ts'
import { politeListener } from './doubles.ts'
import { openHouse } from './house.ts'
import { createJob, jobEnded, readOperations } from './jobs.ts'

const URL_ID = 'provision.device.operation.url'
const names = await nameServer(name => (name.startsWith('silent') ? 'silent' : ['127.0.0.1']), afterAll)
const house = await openHouse({ DROVER_NAME_SERVERS: names.address })
const url = await politeListener(({ id, name }, response) => {
  const said = { version: '8.0', operation: { response: { id, name, resultCode: 'SUCCESSFUL' } } }
  response.writeHead(201).end(JSON.stringify(said))
})
const named = (address: string, name: string) => address.replace('127.0.0.1', name)

async function jobOn(entities: readonly string[], more: object = {}) {
  return await createJob(house.client, {
    name: 'REBOOT_EQUIPMENT',
    active: true,
    target: { append: { entities } },
    operationParameters: { ackTimeout: 50_000, timeout: 50_000 },
    ...more,
  })
}

test('devices and callbacks by names that are never answered for end as unreachable, and the others are served by theirs', async () => {
  const receiver = await createCallbackReceiver()
  const silent = Array.from({ length: 20 }, (_, k) => `silent-${k}`)
  for (const id of silent) await house.provision(id, { [URL_ID]: named(url, `${id}.test`) })
  await house.provision('pump', { [URL_ID]: named(url, 'pump.test') })

  const unheard = await jobOn(silent, { callback: named(receiver.url, 'silent-receiver.test') })
  const heard = await jobOn(['pump'], { callback: named(receiver.url, 'receiver.test') })
  expect(await jobEnded(house.client, heard.id)).toMatchObject({ report: { summary: { status: 'FINISHED' } } })
  expect((await receiver.hears(2)).map(({ path }) => path)).toEqual(['/jobStarted', '/jobFinished'])

  await jobEnded(house.client, unheard.id)
  const operations = await readOperations(house.client, unheard.id)
  expect(operations).toHaveLength(silent.length)
  for (const { entityId, result, description } of operations) {
    expect([result, description]).toEqual(['ERROR_TIMEOUT', `no name server answered for ${entityId}.test in time`])
  }
  expect(names.asked).toContain('silent-receiver.test')
})
