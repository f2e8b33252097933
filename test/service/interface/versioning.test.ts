import { expect, test } from 'vitest'
import { openHouse } from '../house.ts'

const house = await openHouse()
const { body: document } = await house.call<{ paths: Record<string, object> }>('GET', '/openapi.json')
const paths = Object.keys(document.paths)

test('The version of the interface is the segment v80 of every path.', () => {
  expect(paths.length).toBeGreaterThan(50)
  expect(paths.filter(path => path.split('/')[2] !== 'v80')).toEqual([])
})

test('Clients find their paths behind north, and devices theirs behind south.', () => {
  expect([...new Set(paths.map(path => path.split('/')[1]))].sort()).toEqual(['north', 'south'])
})

test('Every path of clients is the same route without the prefix, as the interface writes it.', async () => {
  for (const path of paths.filter(each => each.startsWith('/north/'))) {
    const concrete = path.replace(/\{\w+\}/g, 'none')
    const both = [concrete, concrete.replace('/north/', '/')]
    const [prefixed, bare] = await Promise.all(
      both.map(each => house.call<object>('PATCH', each, {}, { 'x-apikey': '' })),
    )
    expect([path, bare!.status]).toEqual([path, prefixed!.status])
  }
})

test('Another version is not there.', async () => {
  expect((await house.call('POST', '/north/v81/search/jobs', {})).status).toBe(404)
  expect((await house.call('GET', '/south/v81/devices/d1/operation/pending')).status).toBe(404)
})
