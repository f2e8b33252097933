import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { DATA_MODEL } from '../../src/domain/data-model.ts'
import { type Entity, makeEntity } from '../../src/domain/entity.ts'
import { readEntityForm } from '../../src/domain/entity-form.ts'
import type { EntityOutcome } from '../../src/engine/entities.ts'
import { knownDatastreams } from '../../src/store/datastreams.ts'
import { type EntityKey, readEntities } from '../../src/store/entities.ts'
import { testDatabase } from '../database.ts'
import { addOrganization, testEntities } from '../entity-rows.ts'
import { ADDRESS, columnsOf, device, said, writerOf } from './entity-stand.ts'

const { database } = await testDatabase()
const closed: EntityKey[] = []
const gone: EntityKey[] = []
const reachedAnew: EntityKey[] = []
const entities = testEntities(database, {
  closeEntities: async (_tx, of) => void closed.push(...of),
  onGone: of => void gone.push(...of),
  wakeReached: async (_tx, of) => reachedAnew.push(...of) > 0,
})
const acme = await addOrganization(database, 'acme')

const write = writerOf(entities, acme)

const codes = (outcomes: EntityOutcome[]) => outcomes.map(each => (each.ok ? 'ok' : each.error.entry.code))
async function read(identifier: string): Promise<Entity | undefined> {
  return (await readEntities(database, acme.organization, [identifier]))[0]
}

const columns = columnsOf(database, acme)

describe('provisioning', () => {
  it('creates each entity of a batch once, and names the one that exists', async () => {
    expect(codes(await write('CREATE', device('a1'), device('a2'), device('a1')))).toEqual(['ok', 'ok', '0x010114'])
    expect(codes(await write('CREATE', device('a2'), { 'provision.asset.identifier': 'a1' }))).toEqual([
      '0x010114',
      '0x010114',
    ])
    expect((await read('a1'))?.resourceType).toBe('entity.device')
  })

  it('gives a device its key when it is created, and nothing else one', async () => {
    const [a, b] = await write('CREATE', device('k1'), { 'provision.asset.identifier': 'k2' })
    expect(a).toMatchObject({ ok: true, apiKey: expect.stringMatching(/^key-/) })
    expect(b).toEqual({ ok: true, identifier: 'k2', resourceType: 'entity.asset' })
  })

  it('keeps the columns in step with the document', async () => {
    await write(
      'CREATE',
      device('c1', {
        'provision.administration.tags': ['roof', 'roof', 'beta'],
        'provision.device.model': { manufacturer: 'm', name: 'n' },
        'provision.device.operation.flow': 'http',
        'provision.device.operation.url': 'http://c1.example/ops',
        'provision.device.operation.parameters': 'object',
        [ADDRESS]: ['10.0.0.1', '10.0.0.2'],
      }),
    )
    expect(await columns('c1')).toEqual({
      tags: ['roof', 'beta'],
      model: 'n',
      flow: 'http',
      url: 'http://c1.example/ops',
      address: '10.0.0.1',
      as: 'object',
      carrier: null,
    })
    await write('UPDATE', device('c1', { 'provision.administration.tags': ['cellar'] }))
    expect(await columns('c1')).toEqual({
      tags: ['cellar'],
      model: null,
      flow: null,
      url: null,
      address: null,
      as: 'typed',
      carrier: null,
    })
  })

  it('replaces, patches and deletes only what is there', async () => {
    await write('CREATE', device('u1', { 'provision.device.name': 'one', 'provision.device.description': 'd' }))
    expect(codes(await write('PATCH', device('u1', { 'provision.device.name': 'two' }), device('u9')))).toEqual([
      'ok',
      '0x010006',
    ])
    expect((await read('u1'))?.document).toMatchObject({
      'provision.device.name': 'two',
      'provision.device.description': 'd',
    })
    expect(codes(await write('UPDATE', device('u9'), device('u1', { 'provision.device.name': 'three' })))).toEqual([
      '0x010006',
      'ok',
    ])
    expect((await read('u1'))?.document).not.toHaveProperty(['provision.device.description'])
    expect(codes(await write('DELETE', device('u9'), device('u1'), device('u1')))).toEqual([
      '0x010006',
      'ok',
      '0x010006',
    ])
    expect(await read('u1')).toBeUndefined()
  })

  it('does what is asked twice of one entity one after the other', async () => {
    await write('CREATE', device('t1'))
    await write(
      'PATCH',
      device('t1', { 'provision.device.name': 'x' }),
      device('t1', { 'provision.device.description': 'y' }),
    )
    expect((await read('t1'))?.document).toMatchObject({
      'provision.device.name': 'x',
      'provision.device.description': 'y',
    })
  })

  it('refuses an entity of another kind than the address as one that is not there', async () => {
    await write('CREATE', device('w1'))
    const [outcome] = await entities.write(acme, 'DELETE', [
      { said: new Map(), resourceType: 'entity.asset', identifier: 'w1' },
    ])
    expect(codes([outcome!])).toEqual(['0x010006'])
  })

  it('names the fields at fault of one request and carries out the others', async () => {
    const outcomes = await write(
      'CREATE',
      device('n1', { 'provision.administration.organization': 'other' }),
      device('n2'),
      { resourceType: 'entity.device' },
    )
    expect(codes(outcomes)).toEqual(['0x010001', 'ok', '0x010000'])
    expect(outcomes[0]).toMatchObject({ error: { context: [{ name: 'provision.administration.organization' }] } })
    expect(outcomes[2]).toMatchObject({ error: { context: [{ name: 'provision.device.identifier' }] } })
  })

  it('ends what runs on an entity that is deleted, and tells who listens', async () => {
    await write('CREATE', device('d1'), device('d2'))
    closed.length = gone.length = 0
    await write('DELETE', device('d1'), device('d2'))
    expect(closed).toHaveLength(2)
    expect(gone.map(({ entity }) => entity).sort()).toEqual(closed.map(({ entity }) => entity).sort())
  })

  it('keeps what organizations have apart', async () => {
    const other = await addOrganization(database, 'other')
    await write('CREATE', device('x1'))
    expect(codes(await entities.write(other, 'UPDATE', [{ said: said(device('x1')) }]))).toEqual(['0x010006'])
    expect(codes(await entities.write(other, 'CREATE', [{ said: said(device('x1')) }]))).toEqual(['ok'])
    expect(await read('x1')).toBeDefined()
  })

  it('lets filters know every id that was provisioned', async () => {
    await write('CREATE', device('f1', { 'site.floor': 3 }))
    expect(await knownDatastreams(database, acme.organization, ['site.floor', 'site.door'])).toEqual(['site.floor'])
  })

  it('keeps or refuses whatever a body holds, and never fails with the database', async () => {
    const json = fc.jsonValue({ maxDepth: 3, stringUnit: 'binary' })
    const id = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 12 }),
      fc.constantFrom(...DATA_MODEL.map(entry => entry.id), 'x[]', 'x[].y'),
    )
    let at = 0
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.dictionary(id, json, { maxKeys: 6 }), { minLength: 1, maxLength: 20 }),
        async bodies => {
          const requests = bodies.flatMap(body => {
            const read = readEntityForm({ ...body, 'provision.administration.identifier': `any-${++at}` }, true)
            return read.ok ? [{ said: read.value, resourceType: 'entity.asset' as const }] : []
          })
          const created = await entities.write(acme, 'CREATE', requests)
          expect(created).toHaveLength(requests.length)
          for (const [place, outcome] of created.entries()) {
            if (!outcome.ok) continue
            const made = makeEntity(requests[place]!.said, { organizationName: 'acme', resourceType: 'entity.asset' })
            expect(made.ok && JSON.parse(JSON.stringify(made.value.document))).toEqual(
              (await read(outcome.identifier))?.document,
            )
          }
        },
      ),
      { numRuns: 60 },
    )
  })

  it('takes ten thousand devices in seconds', async () => {
    const started = performance.now()
    for (let batch = 0; batch < 10; batch++) {
      const bodies = Array.from({ length: 1_000 }, (_, at) =>
        device(`bulk-${batch}-${at}`, { 'provision.administration.tags': ['bulk'] }),
      )
      expect(codes(await write('CREATE', ...bodies)).every(code => code === 'ok')).toBe(true)
    }
    expect(performance.now() - started).toBeLessThan(20_000)
  })
})

it('wakes what waits for devices that are reached over HTTP from now on, or elsewhere, and for no others', async () => {
  const URL_ID = 'provision.device.operation.url'
  const FLOW = 'provision.device.operation.flow'
  reachedAnew.length = 0
  await write('CREATE', device('w1', { [FLOW]: 'mqtt' }), device('w2'), device('w3', { [URL_ID]: 'http://a/' }))
  expect(reachedAnew).toEqual([])
  await write('PATCH', device('w1', { [FLOW]: 'pull' }), device('w3', { 'provision.device.name': 'three' }))
  expect(reachedAnew).toEqual([])
  await write('PATCH', device('w1', { [FLOW]: 'http' }), device('w2', { [ADDRESS]: ['10.4.0.2'] }))
  await write('UPDATE', device('w3', { [URL_ID]: 'http://b/' }))
  expect(reachedAnew).toMatchObject([{ identifier: 'w1' }, { identifier: 'w2' }, { identifier: 'w3' }])
})
