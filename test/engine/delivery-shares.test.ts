import { describe, expect, test } from 'vitest'
import { deliveryShares } from '../../src/engine/delivery-shares.ts'

const SECOND = 1_000

describe('a receiver', () => {
  test('has one attempt at a time until it has answered quickly, then its full number', () => {
    const shares = deliveryShares(100, 8)
    expect(shares.first(0)).toMatchObject({ perReceiver: 1, ignored: [] })
    const end = shares.begin('a', 0)
    expect(shares.more(0).free).toBe(0)
    end(SECOND)
    shares.begin('a', SECOND)
    expect(shares.more(SECOND)).toEqual({ free: 50, perReceiver: 8, ignored: [] })
  })

  test('that lets an attempt hang has one at a time again, from then on and while it hangs', () => {
    const shares = deliveryShares(100, 8)
    shares.begin('a', 0)(0)
    const end = shares.begin('a', 0)
    shares.begin('b', 0)(0)
    shares.begin('b', 2_500)
    expect(shares.more(2_500).ignored).toEqual(['a'])
    end(15 * SECOND)
    shares.begin('a', 15 * SECOND)
    shares.begin('c', 15 * SECOND)(15 * SECOND)
    shares.begin('c', 15 * SECOND)
    expect(shares.more(15 * SECOND).ignored).toEqual(['b', 'a'])
  })

  test('that hangs takes no place of the others', () => {
    const shares = deliveryShares(100, 8)
    for (let n = 0; n < 100; n += 1) shares.begin(`dead-${n}`, 0)
    expect(shares.first(0).free).toBe(0)
    expect(shares.first(2 * SECOND + 1).free).toBe(100)
  })

  test('that hung before does not even take one at first, and gets nothing when too many hang', () => {
    const shares = deliveryShares(100, 8)
    for (let n = 0; n < 500; n += 1) shares.begin(`dead-${n}`, 0)(15 * SECOND)
    for (let n = 0; n < 499; n += 1) shares.begin(`dead-${n}`, 20 * SECOND)
    expect(shares.first(20 * SECOND)).toMatchObject({ free: 100, ignored: [] })
    shares.begin('dead-499', 20 * SECOND)
    const full = shares.first(20 * SECOND)
    expect(full.free).toBe(100)
    expect(full.ignored).toHaveLength(500)
  })

  test('that answers quickly gets at most half of all places beyond its first', () => {
    const shares = deliveryShares(10, 8)
    shares.begin('a', 0)(0)
    for (let n = 0; n < 6; n += 1) shares.begin('a', 0)
    expect(shares.more(0).free).toBe(0)
    expect(shares.first(0).free).toBe(4)
  })
})
