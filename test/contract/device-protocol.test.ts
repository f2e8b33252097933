import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { expect, test } from 'vitest'
import {
  DEVICE_NAME_LENGTH_MAX,
  DEVICE_STEPS_MAX,
  DEVICE_TEXT_LENGTH_MAX,
  readDeviceRequest,
  readDeviceResponse,
  STEP_RESPONSE_LENGTH_MAX,
} from '../../src/contract/device.ts'
import {
  DEVICE_TOPIC_KINDS,
  deviceTopic,
  pendingPath,
  requestPath,
  responsePath,
} from '../../src/contract/device-addresses.ts'
import { readCollectDmm, readCollectIot } from '../../src/contract/device-collect.ts'
import { MESSAGE_DEPTH_MAX, parseJson } from '../../src/contract/reading.ts'
import { IDS_MAX } from '../../src/domain/entity-limits.ts'
import { KEPT_CHARACTERS_MAX, KEPT_MESSAGE_CHARACTERS_MAX, KEPT_MESSAGES_MAX } from '../../src/domain/kept-message.ts'
import { OPERATION_RESULTS } from '../../src/domain/operation.ts'
import { FIRST_STEPS_KEPT, STEP_RESULTS, STEPS_MAX } from '../../src/domain/step.ts'

const page = await readFile(path.resolve(import.meta.dirname, '../../docs/reference/device-protocol.md'), 'utf8')
const examples = [...page.matchAll(/```json\n([\s\S]*?)```/g)].map(([, json]) => json!)

/** A device's id in the paths of the page; it is never percent-encoded there. */
const inPage = (address: string) => decodeURIComponent(address)

test.each(examples)('the message %s of the device protocol page is read without a fault', text => {
  const parsed = parseJson(text)
  const message = parsed.ok ? parsed.value : undefined
  const readers = {
    operation: [readDeviceRequest, readDeviceResponse],
    datastreams: [readCollectIot],
    event: [readCollectDmm],
  }
  const known = Object.entries(readers).filter(([member]) => Object.hasOwn(message as object, member))
  const readings = known.flatMap(([, each]) => each.map(read => read(message)))
  if (Object.hasOwn(message as object, 'errors')) expect(readings).toEqual([])
  else expect(readings.some(({ ok }) => ok)).toBe(true)
})

test('the page names every topic and every path of the device interface', () => {
  const addresses = [
    ...DEVICE_TOPIC_KINDS.map(kind => deviceTopic(kind, '{id}')),
    ...[
      responsePath('{id}'),
      pendingPath('{id}'),
      requestPath('{id}'),
      '/south/v80/devices/{id}/collect/iot',
      '/south/v80/devices/{id}/collect/dmm',
    ],
  ]
  expect(addresses.filter(address => !page.includes(inPage(address)))).toEqual([])
})

test('the page names every result that a device can give, and the bounds that hold', () => {
  const words = [...OPERATION_RESULTS, ...STEP_RESULTS].filter(word => !page.includes(`\`${word}\``))
  expect(words).toEqual([])
  const figure = (bound: number) => bound.toLocaleString('en')
  for (const bound of [
    `| nesting of a message | ${MESSAGE_DEPTH_MAX} levels |`,
    `| an operation id, a step's name | ${DEVICE_NAME_LENGTH_MAX} characters |`,
    `| steps in a message | ${figure(DEVICE_STEPS_MAX)} |`,
    `| different steps of an attempt | ${STEPS_MAX} | the first ${FIRST_STEPS_KEPT} and the newest`,
    `\`title\` and \`description\` | ${figure(DEVICE_TEXT_LENGTH_MAX)} characters |`,
    `| a step's \`response\` | ${figure(STEP_RESPONSE_LENGTH_MAX)} characters`,
    `${figure(IDS_MAX)} ids are kept`,
    `last ${KEPT_MESSAGES_MAX} about`,
    `${figure(KEPT_MESSAGE_CHARACTERS_MAX)} characters of each`,
    `${figure(KEPT_CHARACTERS_MAX)} of all`,
  ])
    expect(page.replaceAll('\n', ' ')).toContain(bound)
})
