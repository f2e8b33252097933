/** The registry of errors, and the page that tells clients of it. */
import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { expect, test } from 'vitest'
import { DroverError, ERRORS, type ErrorName } from '../../src/domain/errors.ts'
import { errorBody, STATUS_OF } from '../../src/server/errors.ts'

const page = path.join(import.meta.dirname, '..', '..', 'docs', 'reference', 'errors.md')

test('the reference tells every error of the registry, with its status and words, and no other', async () => {
  const rows = (await readFile(page, 'utf8'))
    .split('\n')
    .filter(line => line.startsWith('| `0x'))
    .map(line => line.split('|').map(cell => cell.trim()))
  expect(rows.map(([, code, status, message]) => [code, status, message])).toEqual(
    Object.values(ERRORS).map(({ code, kind, message }) => [`\`${code}\``, String(STATUS_OF[kind]), message]),
  )
  for (const [, code, , , when] of rows) expect(when, code).toMatch(/\.$/)
})

test('the answer that the reference shows is that to a misspelt member', async () => {
  const [, shown] = /```json\n(.*?)```/s.exec(await readFile(page, 'utf8'))!
  expect(JSON.parse(shown!)).toEqual(errorBody(new DroverError('forbiddenField', [{ name: 'job.request.Strategy' }])))
})

test('every code stands for one error', () => {
  const codes = Object.values(ERRORS).map(({ code }) => code)
  expect(new Set(codes).size).toBe(codes.length)
})

test.each([
  ['unauthorized', '0x04', 401],
  ['noTarget', '0x020002', 400],
  ['bundleMissing', '0x020006', 400],
  ['forbiddenField', '0x010003', 400],
  ['unknownFilterField', '0x050014', 400],
  ['duplicated', '0x010114', 400],
  ['requiredField', '0x010000', 400],
  ['entityNotExists', '0x010006', 404],
  ['organizationNotExists', '0x010015', 404],
] as const)('%s keeps the code and the status that existing clients know', (name, code, status) => {
  expect(ERRORS[name].code).toBe(code)
  expect(STATUS_OF[ERRORS[name].kind]).toBe(status)
})

test('the words that existing clients match on are kept to the letter', () => {
  const words = (name: ErrorName) => errorBody(new DroverError(name)).errors[0]?.message
  expect(words('forbiddenField')).toBe('Forbidden field.')
  expect(words('unknownFilterField')).toBe('Field in filter unknown')
  expect(words('duplicated')).toBe('Entity duplicated.')
  expect(words('requiredField')).toBe('Required field.')
  expect(words('entityNotExists')).toBe('Entity not exists.')
  expect(words('organizationNotExists')).toBe('Organization not exists.')
  expect(words('jobTransition')).toBe('Job state transition error.')
})

test('a context is there only where there is something to name', () => {
  expect(errorBody(new DroverError('unauthorized'))).toEqual({ errors: [{ code: '0x04', message: 'Unauthorized.' }] })
  expect(errorBody(new DroverError('requiredField', [{ name: 'a.b' }]))).toEqual({
    errors: [{ code: '0x010000', message: 'Required field.', context: [{ name: 'a.b' }] }],
  })
})
