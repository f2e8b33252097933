import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { RESOURCE_TYPES } from '../../src/domain/data-model.ts'
import { carriedBy, type Entity, makeEntity, mergeEntity, traitsOf } from '../../src/domain/entity.ts'
import { flattenedForm, nestedForm } from '../../src/domain/entity-answer.ts'
import { readEntityForm } from '../../src/domain/entity-form.ts'
import type { Parsed } from '../../src/domain/problems.ts'

const frame = { organizationName: 'acme' }

function value<T>(parsed: Parsed<T>): T {
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems))
  return parsed.value
}

function problems(parsed: Parsed<unknown>): string[] {
  return parsed.ok ? [] : parsed.problems.map(({ path, message }) => `${path} ${message}`)
}

function read(body: unknown, flattened = true): Entity {
  return value(makeEntity(value(readEntityForm(body, flattened)), frame))
}

const box = (inner: unknown) => ({ _value: { _current: { value: inner } } })
const element = (index: string | number, inner: unknown) => ({ _index: { value: index }, ...box(inner) })

const gateway = {
  'provision.administration.channel': box('north'),
  'provision.administration.identifier': box('gw-7'),
  'provision.administration.organization': box('acme'),
  'provision.administration.tags': box(['roof', 'beta']),
  'provision.device.communicationModules[].identifier': [element('lte', 'lte'), element('wifi', 'wifi')],
  'provision.device.communicationModules[].subscription.address': [element('lte', '10.0.0.7')],
  'provision.device.communicationModules[].subscription.identifier': [element('lte', '8934-7')],
  'provision.device.identifier': box('gw-7'),
  'provision.device.location': box({ position: { type: 'Point', coordinates: [2.1, 41.4] } }),
  'provision.device.operation.url': box('http://gw-7.example:1123/ops'),
  'site.floor': box(3),
  resourceType: box('entity.device'),
}

describe('the forms of an entity', () => {
  it('reads back flattened exactly as it was written flattened', () => {
    expect(flattenedForm(read(gateway))).toEqual(gateway)
  })

  it('reads back nested as the same tree, with the elements of a list together', () => {
    expect(JSON.parse(JSON.stringify(nestedForm(read(gateway))))).toEqual({
      resourceType: { _current: { value: 'entity.device' } },
      site: { floor: { _current: { value: 3 } } },
      provision: {
        administration: {
          channel: { _current: { value: 'north' } },
          identifier: { _current: { value: 'gw-7' } },
          organization: { _current: { value: 'acme' } },
          tags: { _current: { value: ['roof', 'beta'] } },
        },
        device: {
          identifier: { _current: { value: 'gw-7' } },
          location: { _current: { value: { position: { type: 'Point', coordinates: [2.1, 41.4] } } } },
          operation: { url: { _current: { value: 'http://gw-7.example:1123/ops' } } },
          communicationModules: [
            {
              _index: { value: 'lte' },
              identifier: { _current: { value: 'lte' } },
              subscription: {
                address: { _current: { value: '10.0.0.7' } },
                identifier: { _current: { value: '8934-7' } },
              },
            },
            { _index: { value: 'wifi' }, identifier: { _current: { value: 'wifi' } } },
          ],
        },
      },
    })
  })

  it('takes plain values without boxes, in either form', () => {
    const plain = {
      'provision.device.identifier': 'gw-7',
      'provision.device.communicationModules[].identifier': ['lte'],
      'provision.device.location': { position: null },
    }
    const nested = {
      provision: {
        device: { identifier: 'gw-7', communicationModules: [{ identifier: 'lte' }], location: { position: null } },
      },
    }
    expect(read(plain)).toEqual(read(nested, false))
    expect(read(plain).document['provision.device.communicationModules[].identifier']).toEqual([
      { index: 'lte', value: 'lte' },
    ])
  })

  it('has plain boxes for the ids of the modules in the body of a subscription', () => {
    const subscription = {
      'provision.administration.identifier': box('8934-7'),
      'provision.administration.organization': box('acme'),
      'provision.device.communicationModules[].subscription.address': box('10.0.0.7'),
      'provision.device.communicationModules[].subscription.identifier': box('8934-7'),
      resourceType: box('entity.subscription'),
    }
    const entity = read(subscription)
    expect(flattenedForm(entity)).toEqual(subscription)
    expect(read(nestedForm(entity), false)).toEqual(entity)
    expect(traitsOf(entity).address).toBe('10.0.0.7')
  })

  it('shows collected values beside the provisioned ones, with their instant', () => {
    const at = Date.UTC(2031, 4, 6)
    const collected = { temp: { value: 21, at }, 'site.floor': { value: 9, at } }
    expect(flattenedForm(read(gateway), collected)).toEqual({
      ...gateway,
      temp: { _value: { _current: { value: 21, at: '2031-05-06T00:00:00.000Z' } } },
    })
    expect(nestedForm(read(gateway), collected)).toMatchObject({
      temp: { _current: { value: 21, at: '2031-05-06T00:00:00.000Z' } },
      site: { floor: { _current: { value: 3 } } },
    })
  })

  const segment = fc.stringMatching(/^[a-zA-Z][a-zA-Z0-9-]{0,6}$/)
  const json = fc.jsonValue({ maxDepth: 3, stringUnit: 'grapheme' }).filter(it => it !== null)
  const id = fc.oneof(
    fc.array(segment, { minLength: 1, maxLength: 4 }).map(segments => segments.join('.')),
    fc.constantFrom('constructor', 'toString.length', '__proto__x', 'provision.device.custom'),
  )
  const listId = fc
    .tuple(
      fc.constantFrom('provision.device.communicationModules', 'list.of', 'x'),
      fc.array(segment, { maxLength: 2 }),
    )
    .map(([list, rest]) => [`${list}[]`, ...rest].join('.'))
  const index = fc.oneof(segment, fc.nat(9))
  const list = fc.oneof(
    fc
      .uniqueArray(index, { minLength: 1, maxLength: 4 })
      .chain(indexes => fc.tuple(...indexes.map(at => json.map(v => element(at, v))))),
    fc.array(json.map(box), { minLength: 1, maxLength: 3 }),
  )

  it('survives being read in the form in which it was answered, whatever it holds', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...RESOURCE_TYPES),
        fc.dictionary(id, json.map(box), { maxKeys: 8, noNullPrototype: true }),
        fc.dictionary(listId, list, { maxKeys: 5, noNullPrototype: true }),
        (resourceType, values, lists) => {
          const wire = (form: unknown) => JSON.parse(JSON.stringify(form))
          const body = { ...values, ...lists, resourceType, 'provision.administration.identifier': 'e1' }
          const said = readEntityForm(wire(body), true)
          const made = said.ok ? makeEntity(said.value, frame) : said
          fc.pre(made.ok)
          expect(read(wire(flattenedForm(made.value)))).toEqual(made.value)
          expect(read(wire(nestedForm(made.value)), false)).toEqual(made.value)
        },
      ),
      { numRuns: 500 },
    )
  })

  it('answers any body with an entity or with problems, never with an accident', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 5, stringUnit: 'binary' }), fc.boolean(), (body, flattened) => {
        const said = readEntityForm(body, flattened)
        const made = said.ok ? makeEntity(said.value, frame) : said
        expect(made.ok || made.problems.length > 0).toBe(true)
      }),
    )
  })
})

describe('what an entity must be', () => {
  const refusals: [string, Record<string, unknown>, string][] = [
    ['an identifier', { resourceType: 'entity.device' }, 'provision.device.identifier is required'],
    ['a kind', { 'provision.administration.channel': 'x' }, 'provision.administration.identifier is required'],
    [
      'a known kind',
      { resourceType: 'entity.car', 'provision.administration.identifier': 'a' },
      'resourceType must be one of',
    ],
    [
      'of the organization of the address',
      { 'provision.device.identifier': 'a', 'provision.administration.organization': 'other' },
      'provision.administration.organization must be acme',
    ],
    [
      'known by one identifier',
      { 'provision.device.identifier': 'a', 'provision.administration.identifier': 'b' },
      "provision.administration.identifier must be a, the entity's own identifier",
    ],
    [
      'reached in a way that exists',
      { 'provision.device.identifier': 'a', 'provision.device.operation.flow': 'coap' },
      'provision.device.operation.flow must be http, mqtt, pull or function:<name>',
    ],
    [
      'reached at a URL',
      { 'provision.device.identifier': 'a', 'provision.device.operation.url': 'gw-7' },
      'provision.device.operation.url must be an http or https URL',
    ],
    [
      'reached with its key, and no user name or password in its URL',
      { 'provision.device.identifier': 'a', 'provision.device.operation.url': 'http://ada:secret@gw-7/' },
      'provision.device.operation.url must not hold a user name or password',
    ],
    [
      'tagged with texts',
      { 'provision.device.identifier': 'a', 'provision.administration.tags': 'roof' },
      'provision.administration.tags must be an array',
    ],
    [
      'made of text that can be kept',
      { 'provision.device.identifier': 'a', 'provision.device.name': 'x\u0000' },
      'provision.device.name holds a character that cannot be kept',
    ],
    [
      'a list or a value',
      { 'provision.device.identifier': 'a', 'x[].y': [1], 'x.z': 1 },
      'x[].y is a list and a single value at once',
    ],
    [
      'without an empty box',
      { 'provision.device.identifier': { _value: {} } },
      'provision.device.identifier._value._current.value is required',
    ],
    [
      'free of two elements of one index',
      { 'provision.device.identifier': 'a', 'x[].y': [element('i', 1), element('i', 2)] },
      'x[].y[1]._index is there twice',
    ],
    ['named by ids', { 'provision.device.identifier': 'a', 'a..b': 1 }, 'a..b is no id'],
  ]
  it.each(refusals)('is %s, or the field is named', (_, body, expected) => {
    const said = readEntityForm(body, true)
    const found = problems(said.ok ? makeEntity(said.value, frame) : said)
    expect(found).toEqual([expect.stringContaining(expected)])
  })

  it('is bounded in ids, elements, depth and length', () => {
    const deep = JSON.parse(`${'['.repeat(40)}${']'.repeat(40)}`)
    const long = Object.fromEntries(Array.from({ length: 9 }, (_, at) => [`a${at}`, 'x'.repeat(15_000)]))
    const many = Object.fromEntries(Array.from({ length: 1_100 }, (_, at) => [`a${at}`, 1]))
    const of = (more: object) => {
      const said = readEntityForm({ 'provision.device.identifier': 'a', ...more }, true)
      return problems(said.ok ? makeEntity(said.value, frame) : said)[0]
    }
    expect(of({ deep })).toBe('deep is nested deeper than 16 levels')
    expect(of({ long: 'x'.repeat(20_000) })).toBe('long is longer than 16000 characters')
    expect(of({ 'x[].y': new Array(5_000).fill(1) })).toBe('x[].y[100] is one more than the 100 of a list')
    expect(of(long)).toBe(' is longer than 100000 characters')
    expect(of(many)).toBe(' has more than 1000 ids')
  })

  it('takes its kind from the identifier that it has', () => {
    expect(read({ 'provision.asset.identifier': 'a1' }).resourceType).toBe('entity.asset')
    expect(read({ 'provision.device.communicationModules[].subscriber.identifier': 's1' }).resourceType).toBe(
      'entity.subscriber',
    )
  })
})

describe('a patch', () => {
  const patched = (body: unknown, flattened = true) =>
    value(mergeEntity(read(gateway), value(readEntityForm(body, flattened)), frame)).document

  it('replaces what it names and leaves the rest', () => {
    const after = patched({ 'provision.administration.channel': box('south') })
    expect(after['provision.administration.channel']).toBe('south')
    expect(after['site.floor']).toBe(3)
  })

  it('removes an id by null, and all below it', () => {
    const after = patched({ site: null, 'provision.device.operation.url': box(null) })
    expect(Object.keys(after).filter(id => id.startsWith('site') || id.includes('operation'))).toEqual([])
    const without = patched({ provision: { device: { communicationModules: null } } }, false)
    expect(Object.keys(without).filter(id => id.includes('[]'))).toEqual([])
  })

  it('changes the elements of a list that it names by index', () => {
    const id = 'provision.device.communicationModules[].subscription.identifier'
    expect(patched({ [id]: [element('wifi', '8934-8')] })[id]).toEqual([
      { index: 'lte', value: '8934-7' },
      { index: 'wifi', value: '8934-8' },
    ])
    expect(patched({ [id]: [element('lte', null)] })[id]).toBeUndefined()
  })

  it('cannot make it another entity or another kind', () => {
    const of = (body: unknown) => problems(mergeEntity(read(gateway), value(readEntityForm(body, true)), frame))
    expect(of({ 'provision.device.identifier': 'gw-8' })).toEqual([
      'provision.device.identifier must be gw-7, the id of the address',
    ])
    expect(of({ resourceType: 'entity.asset' })).toEqual([
      expect.stringContaining('resourceType must be entity.device'),
    ])
  })
})

describe('what the engine reads of a device', () => {
  it('is its traits and what it carries, in the order of its modules', () => {
    const device = read({
      ...gateway,
      'provision.device.model': { manufacturer: 'm', name: 'n' },
      'provision.device.operation.flow': 'mqtt',
      'provision.device.operation.parameters': 'object',
    })
    expect(traitsOf(device)).toEqual({
      tags: ['roof', 'beta'],
      model: 'n',
      flow: 'mqtt',
      url: 'http://gw-7.example:1123/ops',
      parametersAs: 'object',
      address: '10.0.0.7',
    })
    expect(carriedBy(device)).toEqual([
      { resourceType: 'entity.commsModule', identifier: 'lte', position: 0 },
      { resourceType: 'entity.commsModule', identifier: 'wifi', position: 1 },
      { resourceType: 'entity.subscription', identifier: '8934-7', position: 0 },
    ])
    expect(carriedBy(read({ 'provision.asset.identifier': 'a1' }))).toEqual([])
  })
})
