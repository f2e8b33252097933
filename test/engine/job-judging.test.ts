import { expect, test } from 'vitest'
import type { Caller } from '../../src/domain/caller.ts'
import type { JobTarget } from '../../src/domain/job.ts'
import { createJobJudging, type ExecutableType } from '../../src/engine/job-judging.ts'
import { judgeParameters } from '../../src/engine/parameter-judge.ts'
import type { Transaction } from '../../src/store/database.ts'
import { jobRequest } from './workbench.ts'

const schema = { type: 'object', properties: { a: { type: 'integer' }, b: { default: 2 } }, required: ['a'] }
const type: ExecutableType = {
  name: 'REBOOT_EQUIPMENT',
  profiles: null,
  applicability: { resourceTypes: ['entity.device'], models: [] },
  judgeParameters: (own, path) => judgeParameters({ name: 'REBOOT_EQUIPMENT', parameters: schema }, own, path),
}
const judging = createJobJudging({ findType: async () => type, compile: () => Promise.reject(new Error('no filter')) })
const caller: Caller = { organization: 1, organizationName: 'drover', email: 'a@b.c', profile: 'admin' }

function judged(target: JobTarget, parameters: Record<string, unknown> = {}) {
  return judging.judged({} as Transaction, caller, type, jobRequest({ parameters, target }))
}

test('a request may lack what its type requires where each of its entities has parameters of its own', async () => {
  const append = { entitiesWithParameters: [{ id: 'd', parameters: { a: 1 } }] }
  expect(await judged({ append })).toMatchObject({
    parameters: {},
    target: { append: { entitiesWithParameters: [{ id: 'd', parameters: { a: 1, b: 2 } }] } },
  })
})

test.each<[string, JobTarget]>([
  [
    'an entity of the list',
    { append: { entities: ['c'], entitiesWithParameters: [{ id: 'd', parameters: { a: 1 } }] } },
  ],
  [
    'an entry without its own',
    { append: { entitiesWithParameters: [{ id: 'c' }, { id: 'd', parameters: { a: 1 } }] } },
  ],
  ['a tag', { append: { tags: ['north'] } }],
  ['what is yet to come', {}],
])('the parameters of a request are judged and completed for %s', async (_, target) => {
  await expect(judged(target)).rejects.toMatchObject({ context: [{ name: 'job.request.parameters.a' }] })
  expect((await judged(target, { a: 7 })).parameters).toEqual({ a: 7, b: 2 })
})

test('an entry without parameters of its own is left to those of the request', async () => {
  const { target } = await judged({ append: { entitiesWithParameters: [{ id: 'd' }] } }, { a: 7 })
  expect(target.append?.entitiesWithParameters).toEqual([{ id: 'd' }])
})
