import fc from 'fast-check'
import { expect, test } from 'vitest'
import { frameJudge } from '../../src/south/mqtt-frames.ts'

/** A packet with so many bytes after its header. */
function packet(length: number): number[] {
  const header = [0x30]
  let rest = length
  do {
    header.push((rest & 127) | (rest > 127 ? 128 : 0))
    rest >>= 7
  } while (rest > 0)
  return [...header, ...Array<number>(length).fill(0xff)]
}

/** Cuts bytes into chunks of the given sizes, over and over. */
function* cut(bytes: number[], sizes: number[]): Generator<Uint8Array> {
  for (let at = 0, k = 0; at < bytes.length; k += 1) {
    const size = sizes[k % sizes.length]!
    yield Uint8Array.from(bytes.slice(at, at + size))
    at += size
  }
}

test('packets within their bounds are accepted, however the bytes are cut', () => {
  fc.assert(
    fc.property(
      fc.nat(20),
      fc.array(fc.nat(300), { maxLength: 20 }),
      fc.array(fc.integer({ min: 1, max: 50 }), { minLength: 1, maxLength: 5 }),
      (first, lengths, sizes) => {
        const judge = frameJudge({ firstMax: 20, max: 300 })
        const bytes = [first, ...lengths].flatMap(packet)
        expect([...cut(bytes, sizes)].every(judge)).toBe(true)
      },
    ),
  )
})

test('the first packet too long is refused from its length on, and nothing after it is accepted', () => {
  fc.assert(
    fc.property(
      fc.array(fc.nat(300), { maxLength: 5 }),
      fc.integer({ min: 301, max: 268_435_455 }),
      fc.integer({ min: 1, max: 50 }),
      (lengths, long, size) => {
        const judge = frameJudge({ firstMax: 300, max: 300 })
        for (const chunk of cut(lengths.flatMap(packet), [size])) expect(judge(chunk)).toBe(true)
        const header = [0x30, (long & 127) | 128, ((long >> 7) & 127) | 128, ((long >> 14) & 127) | 128, long >> 21]
        expect(judge(Uint8Array.from(header))).toBe(false)
        expect(judge(Uint8Array.from([0xc0, 0]))).toBe(false)
      },
    ),
  )
})

test('the first packet has its own bound', () => {
  expect(frameJudge({ firstMax: 20, max: 300 })(Uint8Array.from(packet(21)))).toBe(false)
  const judge = frameJudge({ firstMax: 20, max: 300 })
  expect(judge(Uint8Array.from([...packet(20), ...packet(300)]))).toBe(true)
})

test('a length of five bytes is refused', () => {
  expect(frameJudge({ firstMax: 20, max: 300 })(Uint8Array.from([0x30, 0x80, 0x80, 0x80, 0x80, 0x01]))).toBe(false)
})
