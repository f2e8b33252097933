import { expect, test } from 'vitest'
import { parseJobId } from '../../../src/domain/identity.ts'
import { sql } from '../../../src/store/statement.ts'
import { openHouse } from '../../service/house.ts'
import { openCommandLine } from '../command-line.ts'

const house = await openHouse()
const cli = await openCommandLine({ DROVER_URL: house.url, DROVER_API_KEY: house.apiKey })

test('verify tells what the rows of jobs contradict, in a table or as JSON, and ends with 1 instead of 0', async () => {
  await house.provision('meter-1')
  const job = await house.start('meter-1', { active: false })
  await house.start('meter-1', { active: false })
  const fine = await cli.run(['verify'])
  expect(fine).toEqual({ code: 0, stdout: '2 jobs verified: the counters agree with the rows.\n', stderr: '' })

  await house.database.query(sql`insert into job_counter_delta (job, scheduled) values (${parseJobId(job)!}, 2)`)
  const [words, json] = [await cli.run(['verify']), await cli.run(['verify', '--json'])]
  expect(words.stdout).toMatch(new RegExp(`${job} +scheduled +3 +1`))
  expect(words.stdout).toContain('2 jobs verified, 1 difference.')
  expect(JSON.parse(json.stdout)).toEqual({
    jobs: 2,
    differences: [{ kind: 'counter', jobId: job, counter: 'scheduled', counted: 3, rows: 1 }],
    complete: true,
  })
  expect([words.code, json.code]).toEqual([1, 1])
})
