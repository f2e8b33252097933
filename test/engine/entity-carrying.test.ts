import { describe, expect, it } from 'vitest'
import { testDatabase } from '../database.ts'
import { addOrganization, testEntities } from '../entity-rows.ts'
import { ADDRESS, columnsOf, device, SUBSCRIPTION, subscription, writerOf } from './entity-stand.ts'

const { database } = await testDatabase()
const acme = await addOrganization(database, 'acme')
const write = writerOf(testEntities(database), acme)
const columns = columnsOf(database, acme)

describe('a device and what it carries', () => {
  it('find each other, whichever was provisioned first', async () => {
    await write('CREATE', subscription('s1', { [ADDRESS]: '10.1.0.1' }), device('g1', { [SUBSCRIPTION]: ['s1'] }))
    await write('CREATE', device('g2', { [SUBSCRIPTION]: ['s2'] }))
    await write('CREATE', subscription('s2', { [ADDRESS]: '10.1.0.2' }))
    expect([(await columns('s1')).carrier, (await columns('s2')).carrier]).toEqual(['g1', 'g2'])
    expect([(await columns('g1')).address, (await columns('g2')).address]).toEqual(['10.1.0.1', '10.1.0.2'])
  })

  it('part when the device no longer names it, or goes', async () => {
    await write('CREATE', subscription('p1'), subscription('p2'), device('q1', { [SUBSCRIPTION]: ['p1', 'p2'] }))
    await write('UPDATE', device('q1', { [SUBSCRIPTION]: ['p2'] }))
    expect([(await columns('p1')).carrier, (await columns('p2')).carrier]).toEqual([null, 'q1'])
    await write('DELETE', device('q1'))
    expect((await columns('p2')).carrier).toBeNull()
  })

  it('goes to the next device that names it when the first one lets go', async () => {
    await write('CREATE', subscription('n1', { [ADDRESS]: '10.2.0.1' }))
    await write('CREATE', device('m1', { [SUBSCRIPTION]: ['n1'] }))
    await write('CREATE', device('m2', { [SUBSCRIPTION]: ['n1'] }))
    expect((await columns('n1')).carrier).toBe('m1')
    await write('PATCH', device('m1', { [SUBSCRIPTION]: null }))
    expect([(await columns('n1')).carrier, (await columns('m1')).address]).toEqual(['m2', null])
  })

  it('gives the device the address of its first subscription, unless it has one of its own', async () => {
    await write('CREATE', subscription('o1'), subscription('o2', { [ADDRESS]: '10.3.0.2' }))
    await write('CREATE', device('r1', { [SUBSCRIPTION]: ['o1', 'o2'] }))
    expect((await columns('r1')).address).toBe('10.3.0.2')
    await write('PATCH', subscription('o1', { [ADDRESS]: '10.3.0.1' }))
    expect((await columns('r1')).address).toBe('10.3.0.1')
    await write('DELETE', subscription('o1'))
    expect((await columns('r1')).address).toBe('10.3.0.2')
    await write('PATCH', device('r1', { [ADDRESS]: ['10.3.0.9'] }))
    expect((await columns('r1')).address).toBe('10.3.0.9')
  })

  it('find each other when both are written at the same moment', async () => {
    const names = Array.from({ length: 40 }, (_, at) => `both-${at}`)
    await Promise.all(
      names.flatMap(name => [
        write('CREATE', subscription(name)),
        write('CREATE', device(`${name}-device`, { [SUBSCRIPTION]: [name] })),
      ]),
    )
    for (const name of names) expect((await columns(name)).carrier).toBe(`${name}-device`)
  })

  it('does not take another thing of that name for it', async () => {
    await write('CREATE', device('z1', { [SUBSCRIPTION]: ['z2'] }), { 'provision.asset.identifier': 'z2' })
    expect((await columns('z2')).carrier).toBeNull()
  })
})
