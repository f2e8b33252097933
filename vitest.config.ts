import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: ['test/global-setup.ts'],
    testTimeout: 120_000,
    hookTimeout: 120_000,
    // What is waited for may take longer on a machine that does other work besides; a second is not long.
    expect: { poll: { timeout: 60_000 } },
  },
})
