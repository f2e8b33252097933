import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type PlaceOwner, type Places, sharedPlaces } from '../../src/domain/places.ts'

const owner = (organization: number, job: number): PlaceOwner => ({ organization, job: BigInt(job) })

/** How many places an owner gets that takes whatever it may. */
function takeAll(places: Places, who: PlaceOwner): number {
  let taken = 0
  while (places.take(who)) taken += 1
  return taken
}

describe('places', () => {
  test('are never more than there are, and come back when they are left', () => {
    const owners = fc.record({ organization: fc.nat(3), job: fc.nat(9) })
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 300 }), fc.array(owners, { maxLength: 400 }), (max, comers) => {
        const places = sharedPlaces(max)
        const kept = comers
          .map(({ organization, job }) => owner(organization, organization * 10 + job))
          .filter(places.take)
        expect(places.free()).toBe(max - kept.length)
        expect(places.free()).toBeGreaterThanOrEqual(0)
        for (const each of kept) places.leave(each)
        expect(places.free()).toBe(max)
      }),
    )
  })

  test('are left for another job of an organization and for another organization, whoever takes all that he may', () => {
    const jobs = fc.array(fc.record({ organization: fc.nat(2), job: fc.nat(5) }), { minLength: 1, maxLength: 20 })
    fc.assert(
      fc.property(jobs, greedy => {
        const places = sharedPlaces(4_096)
        for (const { organization, job } of greedy) takeAll(places, owner(organization, organization * 10 + job))
        expect(takeAll(places, owner(greedy[0]!.organization, 1_000))).toBeGreaterThan(0)
        expect(takeAll(places, owner(9, 1_001))).toBeGreaterThan(100)
      }),
    )
  })

  test('go to one job up to a third, and of those of one organization an eighth is left however many jobs it has', () => {
    const places = sharedPlaces(4_096)
    expect(takeAll(places, owner(1, 1))).toBe(1_366)
    for (let job = 2; job < 1_000; job += 1) takeAll(places, owner(1, job))
    expect(places.free()).toBeGreaterThanOrEqual(512)
    expect(takeAll(places, owner(2, 2_000))).toBeGreaterThan(100)
  })

  test('are promised by a trial as they would be taken, and are not taken by it', () => {
    const places = sharedPlaces(100)
    takeAll(places, owner(1, 1))
    const free = places.free()
    const [mayHave, other] = [places.trial(), owner(2, 2)]
    let promised = 0
    while (mayHave(other)) promised += 1
    expect(places.free()).toBe(free)
    expect(takeAll(places, other)).toBe(promised)
  })
})
