/** The key under which a request that makes a job is known again. */
import { expect, test } from 'vitest'
import { createOnce, type Once } from '../../src/console/parts/once.ts'

const keyOf = (once: Once, name: string) => {
  const request = { name, target: { append: { tags: ['lamp'] } } }
  const { header } = once({ name: 'POST /operation/jobs', given: { body: { job: { request } } } }).given
  return header?.['idempotency-key']
}

test('the same request has the same key as long as what asks is open, also when another was asked meanwhile', () => {
  const [once, openedAgain] = [createOnce(), createOnce()]
  const key = keyOf(once, 'REFRESH_INFO')
  expect(key).toMatch(/^[0-9a-f]{32}$/)
  expect(keyOf(once, 'REBOOT_EQUIPMENT')).not.toBe(key)
  expect(keyOf(once, 'REFRESH_INFO')).toBe(key)
  expect(keyOf(openedAgain, 'REFRESH_INFO')).not.toBe(key)
})
