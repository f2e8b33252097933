/** Where the recordings of an existing client and an existing device lie, if they do. */
import path from 'node:path'

export const recordings =
  process.env.DROVER_TEST_SAMPLES ?? path.resolve(import.meta.dirname, '../../../shared/samples')
