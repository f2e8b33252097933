/**
 * A bound on the size of MQTT packets, judged by their first bytes: a broker that waits for the whole packet would hold up to
 * 256 MB for each connection. It reads lengths and nothing else.
 */

/** Bounds in bytes. */
export interface FrameBounds {
  /** the first packet, sent before anybody is authenticated */
  readonly firstMax: number
  readonly max: number
}

/**
 * Makes the judge of one connection. It is shown each chunk of bytes in order, and answers false from the first packet on that is too
 * long or whose length is not written as MQTT writes it.
 */
export function frameJudge({ firstMax, max }: FrameBounds): (chunk: Uint8Array) => boolean {
  let limit = firstMax
  /** bytes of the packet in hand still to come; negative while its length is being read */
  let left = 0
  let inHeader = false
  let length = 0
  let scale = 1
  let good = true

  return chunk => {
    let at = 0
    while (good && at < chunk.length) {
      if (inHeader) {
        const byte = chunk[at++]!
        length += (byte & 127) * scale
        scale *= 128
        if (byte & 128) {
          good = scale < 128 ** 4
        } else {
          inHeader = false
          good = length <= limit
          limit = max
          left = length
        }
      } else if (left > 0) {
        const skipped = Math.min(left, chunk.length - at)
        left -= skipped
        at += skipped
      } else {
        at += 1
        inHeader = true
        length = 0
        scale = 1
      }
    }
    return good
  }
}
