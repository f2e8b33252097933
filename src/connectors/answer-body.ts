/**
 * The body of a device's answer as text, whichever way it was packed. It is unpacked within the bound of the body, so that a few bytes
 * cannot become many; what the text says is not its business.
 */
import { brotliDecompressSync, gunzipSync, inflateRawSync, inflateSync } from 'node:zlib'

/** A body as it was read, or why it was not. */
export type AnswerBody = { readonly body: string } | { readonly fault: string }

type Unpack = (packed: Buffer, bounds: { maxOutputLength: number }) => Buffer

const UNPACK: Readonly<Record<string, Unpack>> = {
  identity: packed => packed,
  gzip: gunzipSync,
  'x-gzip': gunzipSync,
  // Some send the bare stream under this name, without the header that belongs to it.
  deflate: (packed, bounds) =>
    (packed[0]! & 0x0f) === 8 && packed.length > 1 && packed.readUInt16BE(0) % 31 === 0
      ? inflateSync(packed, bounds)
      : inflateRawSync(packed, bounds),
  br: brotliDecompressSync,
}

/** What is said of a body of more than so many bytes. */
export const tooLong = (bytesMax: number) => `its body is longer than ${bytesMax} bytes`

/** Reads a body of at most `bytesMax` bytes, packed or not. `encoding` is its header `content-encoding`. */
export function readAnswerBody(bytes: Buffer, encoding: string | string[] | undefined, bytesMax: number): AnswerBody {
  if (bytes.length === 0) return { body: '' }
  const name = String(encoding ?? '').trim() || 'identity'
  const unpack = Object.hasOwn(UNPACK, name.toLowerCase()) ? UNPACK[name.toLowerCase()] : undefined
  if (unpack === undefined) return { fault: `its content-encoding ${name.slice(0, 50)} is not known` }
  try {
    return { body: unpack(bytes, { maxOutputLength: bytesMax }).toString('utf8') }
  } catch (error) {
    const isBomb = error instanceof Error && 'code' in error && error.code === 'ERR_BUFFER_TOO_LARGE'
    return { fault: isBomb ? `${tooLong(bytesMax)} when unpacked` : `its body is not ${name}` }
  }
}
