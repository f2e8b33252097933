import { describe, expect, test } from 'vitest'
import { readFunctionRequest, readFunctionResponses } from '../../src/contract/function-answer.ts'

const poisoned = { resultCode: 'SUCCESSFUL', resultDescription: 'a\u0000b\ud83d', steps: [{ name: 'x\u0000' }] }
const readable = { resultCode: 'SUCCESSFUL', resultDescription: 'a\uFFFDb\uFFFD', steps: [{ name: 'x\uFFFD' }] }

describe('what a function gives', () => {
  test('as a result is read with U+FFFD for what no text in the database can hold', () => {
    expect(readFunctionRequest({ result: poisoned }, 'op-1')).toMatchObject({
      ok: true,
      value: { way: 'result', response: { operationId: 'op-1', ...readable } },
    })
  })

  test.each([
    ['as a response', { id: 'op-1', ...poisoned }],
    ['in a list', [{ id: 'op-1', ...poisoned }]],
    ['in its envelope', { operation: { response: { id: 'op-1', ...poisoned } } }],
  ])('%s is read so, too', (_, given) => {
    expect(readFunctionResponses(given)).toMatchObject({ ok: true, value: [{ operationId: 'op-1', ...readable }] })
  })

  test('to be sent travels as it is', () => {
    expect(readFunctionRequest({ http: { body: 'a\u0000b' } }, 'op-1')).toMatchObject({
      value: { http: { body: 'a\u0000b' } },
    })
  })

  test.each([
    [{ result: { steps: [{ name: 'x'.repeat(256) }] } }, 'result.steps[0].name'],
    [{ result: { steps: {} } }, 'result.steps'],
    [{ http: { url: 'nonsense' } }, 'http.url'],
    [{ http: { url: '/relative' } }, 'http.url'],
    [{ http: { url: 'file:///etc/passwd' } }, 'http.url'],
    [{ http: { url: 'http://user:word@host/' } }, 'http.url'],
  ])('is refused by the field at fault: %j', (given, field) => {
    expect(readFunctionRequest(given, 'op-1')).toMatchObject({ ok: false, field })
  })

  test.each([
    [[{ id: 'op-1' }, { steps: [{}] }], '[1].id'],
    [{ id: 'op-1', steps: [{}] }, '[0].steps[0].name'],
    [{ operation: { response: { id: 'op-1', steps: [{}] } } }, '[0].operation.response.steps[0].name'],
    [7, '[0]'],
  ])('as responses is refused by the field at fault: %j', (given, field) => {
    expect(readFunctionResponses(given)).toMatchObject({ ok: false, field })
  })
})
