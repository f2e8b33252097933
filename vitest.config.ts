import { existsSync } from 'node:fs'
import { configDefaults, defineConfig } from 'vitest/config'
import { recordings } from './test/service/recordings.ts'

const isRecorded = existsSync(recordings)
if (!isRecorded) process.stdout.write(`no recordings in ${recordings}: nothing to replay\n`)

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    exclude: [...configDefaults.exclude, ...(isRecorded ? [] : ['test/service/samples.test.ts'])],
    globalSetup: ['test/global-setup.ts'],
    testTimeout: 120_000,
    hookTimeout: 120_000,
    // What is waited for may take longer on a machine that does other work besides; a second is not long.
    expect: { poll: { timeout: 60_000 } },
  },
})
