/** Devices that take a request and stay silent: once their job is cancelled, the room that they held is there for the next one. */
import { expect, test } from 'vitest'
import { type Manners, politeListener } from './doubles.ts'
import { openHouse } from './house.ts'
import { createJob, jobEnded, readJob } from './jobs.ts'

/** As many exchanges as there may be with one host. */
const PER_HOST = 256
const house = await openHouse()
let answer: Manners = () => {}
let asked = 0
const url = await politeListener((request, response) => {
  asked += 1
  return answer(request, response)
})

test('a cancel of a job whose devices are silent makes room for the next job at the same host', async () => {
  const entities = Array.from({ length: PER_HOST }, (_, k) => ({
    resourceType: 'entity.device',
    'provision.device.identifier': `silent-${k}`,
    'provision.administration.channel': 'default_channel',
    'provision.administration.tags': ['silent'],
    'provision.device.operation.url': url,
  }))
  const bulk = '/north/v80/provision/organizations/drover/bulk/entities?action=CREATE&flattened=true'
  expect((await house.call('POST', bulk, { entities })).status).toBe(200)
  const request = (append: object) => ({
    name: 'REBOOT_EQUIPMENT',
    active: true,
    target: { append },
    operationParameters: { ackTimeout: 3_600_000, timeout: 60_000 },
  })
  const silent = await createJob(house.client, request({ tags: ['silent'] }))
  await expect.poll(() => asked, { timeout: 45_000 }).toBe(PER_HOST)

  answer = ({ id, name }, response) => {
    const said = { version: '8.0', operation: { response: { id, name, resultCode: 'SUCCESSFUL' } } }
    response.writeHead(201).end(JSON.stringify(said))
  }
  expect((await house.call('DELETE', `/north/v80/operation/jobs/${silent.id}`)).status).toBe(200)
  expect(await jobEnded(house.client, silent.id)).toMatchObject({ report: { summary: { status: 'CANCELLED' } } })
  const next = await createJob(house.client, request({ entities: ['silent-0', 'silent-1', 'silent-2'] }))
  await jobEnded(house.client, next.id)
  expect(await readJob(house.client, next.id)).toMatchObject({
    report: { summary: { status: 'FINISHED', finished: { successful: 3 } } },
  })
})
