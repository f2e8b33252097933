/** What commands show people of what there is, letter by letter; columns are cells apart by two blanks or more. */
import { writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import path from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import type { TaskView } from '../../src/contract/task.ts'
import { ADMIN, openHouse, response } from '../service/house.ts'
import { openCommandLine } from './command-line.ts'

const house = await openHouse()
const cli = await openCommandLine({ DROVER_URL: house.url, DROVER_API_KEY: house.apiKey })
const key = await house.provision('meter-1', {
  'provision.device.name': 'First meter',
  'provision.administration.tags': ['meters', 'north'],
})

/** The lines of a command that must end well and say nothing beside its answer, cell by cell. */
async function shown(line: string): Promise<string[][]> {
  const { code, stdout, stderr } = await cli.run([...line.split(' '), '--utc'])
  expect([code, stderr], line).toEqual([0, ''])
  return stdout
    .trimEnd()
    .split('\n')
    .map(each => each.trim().split(/ {2,}/))
}

const AT = expect.stringMatching(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ$/)

/** A receiver that takes whatever it is told. */
async function receiver(): Promise<string> {
  const server = createServer((request, reply) => {
    request.resume().on('end', () => void reply.writeHead(204).end())
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  afterAll(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/told`
}

const callback = await receiver()

/** A job that has failed once and then succeeded, with a word of the device about each. */
const ended = await house.start('meter-1', {
  callback,
  operationParameters: { timeout: 3_600_000, retries: 1, retryResultList: ['ERROR_PROCESSING'] },
  userNotes: 'by hand',
})
for (const [resultCode, resultDescription] of [
  ['ERROR_PROCESSING', 'line was busy'],
  ['SUCCESSFUL', 'at last'],
] as const) {
  const asked = await house.south<{ operation: { request: { id: string } } }>(
    'meter-1',
    key,
    'operation/pending?wait=30',
  )
  const result = resultCode === 'SUCCESSFUL' ? 'SUCCESSFUL' : 'ERROR'
  const steps = [{ name: 'REBOOT_EQUIPMENT', result, description: `${result} step` }]
  const { id } = asked.body.operation.request
  await house.south('meter-1', key, 'operation/response', response(id, { resultCode, resultDescription, steps }))
}
const { operationId } = await house.until(ended, each => each.status === 'FINISHED')
const idle = await house.start('meter-1', { active: false })

/** The job's own time-outs, with those that it left to the service. */
const limits = { retries: 1, timeout: 3_600_000, ackTimeout: 0, retriesDelay: 0, retryResultList: ['ERROR_PROCESSING'] }
const STEP_TITLES = ['TIME', 'STEP', 'RESULT', 'DESCRIPTION']
const GAP = ['']

test('jobs show tells what was asked for, when it was, how far it came and what to know of it', async () => {
  await expect.poll(async () => await shown(`jobs show ${ended}`)).toContainEqual(['Status', 'FINISHED'])
  expect(await shown(`jobs show ${ended}`)).toEqual([
    ['Job', ended],
    ['Type', 'REBOOT_EQUIPMENT'],
    ['Status', 'FINISHED'],
    ['User', ADMIN],
    ['Notes', 'by hand'],
    ['Parameters', '{"type":"HARDWARE"}'],
    ['Target', '{"append":{"entities":["meter-1"]}}'],
    ['Timeouts', JSON.stringify(limits)],
    ['Callback', callback],
    ['Activated', AT],
    ['Started', AT],
    ['Finished', AT],
    GAP,
    ['OPERATIONS', 'COUNT'],
    ['total', '1'],
    ['successful', '1'],
    GAP,
    ['RESULT', 'ENDED'],
    ['SUCCESSFUL', '1'],
    GAP,
    ['Warning: with neither --ack-timeout nor --stop it may wait for ever.'],
  ])
})

test('jobs plan says first of all where nothing would run, and why, as the console does', async () => {
  const never = '--start 2099-03-02T09:00 --stop 1h --window 22:00-06:00'
  const words = await cli.run(`jobs plan REFRESH_INFO -e meter-1 --timeout 60s --utc ${never}`.split(' '))
  expect([words.code, words.stderr]).toEqual([0, ''])
  expect(words.stdout).toMatch(
    /^Nothing would run\. The stop, at 2099-03-02 \S+Z, would cancel the one operation before the first launch: the window does not open between the start and the stop\.\n\nOperations +1 /,
  )
  const nobody = await cli.run('jobs plan REFRESH_INFO -e nobody-1,nobody-2 --timeout 60s --stop 1h'.split(' '))
  expect(nobody.stdout).toMatch(
    /^Nothing would run\. Of what the target names, all is refused: 2 not provisioned\.\n\nOperations +0\n/,
  )
})

test('jobs why tells what holds an operation and what moves it next, or that it has ended', async () => {
  expect(await shown(`jobs why ${idle} meter-1`)).toEqual([
    ['Operation', expect.stringMatching(new RegExp(`^${idle}-`))],
    ['Status', 'PENDING'],
    ['Attempt', '0 of 1'],
    GAP,
    ['Held by'],
    ['The job is not active.'],
    GAP,
    ['Next'],
    [`Activating the job opens it: drover jobs resume ${idle}`],
  ])
  expect(await shown(`jobs why ${operationId}`)).toEqual([
    ['Operation', operationId],
    ['Status', 'FINISHED'],
    ['Attempt', '2 of 2'],
    GAP,
    ['Nothing holds it.'],
  ])
})

test('operations show tells the operation, and the steps of each attempt', async () => {
  const words = await shown(`operations show ${operationId}`)
  expect(words).toEqual([
    ['Operation', operationId],
    ['Job', ended],
    ['Entity', 'meter-1 (entity.device)'],
    ['Type', 'REBOOT_EQUIPMENT'],
    ['Status', 'FINISHED'],
    ['Result', 'SUCCESSFUL'],
    ['Description', 'at last'],
    ['Attempt', '2 of 2'],
    ['Parameters', '{"type":"HARDWARE"}'],
    ['Activated', AT],
    ['Started', AT],
    ['Finished', AT],
    GAP,
    ['Attempt 1: ERROR_PROCESSING (line was busy)'],
    STEP_TITLES,
    [AT, 'REBOOT_EQUIPMENT', 'ERROR', 'ERROR step'],
    GAP,
    STEP_TITLES,
    [AT, 'REBOOT_EQUIPMENT', 'SUCCESSFUL', 'SUCCESSFUL step'],
  ])
  expect(await shown(`operations show ${ended} meter-1`)).toEqual(words)
})

test('devices list and show tell what is known of a device, and what it does', async () => {
  expect(await shown('devices list')).toEqual([
    ['ID', 'NAME', 'MODEL', 'TAGS', 'STATE', 'FLOW'],
    ['meter-1', 'First meter', 'meters,north'],
  ])
  expect(await shown('devices list --tag none')).toEqual([['No devices.']])
  const words = await shown('devices show meter-1')
  const end = words.findIndex(([cell]) => cell === '')
  expect(words.slice(0, end)).toEqual(
    expect.arrayContaining([
      ['provision.device.identifier', 'meter-1'],
      ['provision.device.name', 'First meter'],
      ['provision.administration.tags', 'meters,north'],
    ]),
  )
  expect(words.slice(end)).toEqual([
    GAP,
    ['JOB', 'ENTITY', 'TYPE', 'STATUS', 'RESULT', 'ATTEMPT', 'STARTED', 'FINISHED', 'DESCRIPTION'],
    [idle, 'meter-1', 'REBOOT_EQUIPMENT', 'PENDING', 'OPERATION_PENDING', '0/1'],
    [ended, 'meter-1', 'REBOOT_EQUIPMENT', 'FINISHED', 'SUCCESSFUL', '2/2', AT, AT, 'at last'],
  ])
})

test('deliveries list tells what was told to whom, and how that went', async () => {
  const list = `deliveries list --job ${ended}`
  await expect
    .poll(async () => (await shown(list)).slice(1).map(([, , event, , state]) => [event, state]))
    .toEqual([
      ['jobFinished', 'DELIVERED'],
      ['jobStarted', 'DELIVERED'],
    ])
  const told = (event: string) => [expect.any(String), ended, event, 'callback', 'DELIVERED', '1', '204', AT, callback]
  expect(await shown(list)).toEqual([
    ['ID', 'JOB', 'EVENT', 'CHANNEL', 'STATE', 'ATTEMPTS', 'STATUS', 'ATTEMPTED', 'RECEIVER', 'ERROR'],
    told('jobFinished'),
    told('jobStarted'),
  ])
  expect(await shown('deliveries list --state GIVEN_UP')).toEqual([['No deliveries.']])
})

test('types list and show tell what can be run, on what, and with which parameters', async () => {
  const [titles, ...types] = await shown('types list')
  expect(titles).toEqual(['NAME', 'TITLE', 'APPLICABLE TO', 'MODELS', 'PARAMETERS', 'FROM CATALOG'])
  expect(types).toEqual(
    expect.arrayContaining([
      ['REBOOT_EQUIPMENT', 'Reboot', 'device', 'type', 'REBOOT_EQUIPMENT'],
      ['UPDATE', 'Update', 'device', 'bundleName,bundleVersion,deploymentElements*', 'UPDATE'],
    ]),
  )
  const words = await shown('types show UPDATE')
  expect(words.slice(0, 9)).toEqual([
    ['Name', 'UPDATE'],
    ['Title', 'Update'],
    ['Description', 'Installs, upgrades or removes the elements of a bundle.'],
    ['Applicable to', 'entity.device'],
    ['From catalog', 'UPDATE'],
    ['Steps', 'BEGINUPDATE, DOWNLOADFILE, BEGININSTALL, ENDINSTALL, ENDUPDATE'],
    GAP,
    ['Parameters'],
    ['{'],
  ])
  const { parameters } = JSON.parse((await cli.run('types show UPDATE --json'.split(' '))).stdout)
  expect(JSON.parse(words.slice(8).flat().join(' '))).toEqual(parameters)
})

describe('tasks', () => {
  const request = ['-e', 'meter-1', '--timeout', '60s', '--first', '2099-03-02T02:30', '--utc']
  const rhythms: readonly [string, string[], object, string, string][] = [
    ['every', ['--every', '90m'], { period: { each: 90, unit: 'MINUTES' } }, 'every 1h30m', '2099-03-02 02:30:00Z'],
    ['daily', ['--at', '2:30'], { pattern: { time: '02:30:00Z' } }, 'daily at 02:30:00Z', '2099-03-02 02:30:00Z'],
    [
      'weekly',
      ['--at', '02:30:15', '--on', 'TUE,SUN'],
      { pattern: { time: '02:30:15Z', weekly: { days: ['TUE', 'SUN'] } } },
      'TUE,SUN at 02:30:15Z',
      '2099-03-03 02:30:15Z',
    ],
    [
      'monthly',
      ['--at', '02:30', '--day', '5'],
      {
        pattern: {
          time: '02:30:00Z',
          monthly: {
            day: 5,
            months: ['JAN', 'FEB', 'MAR', 'APR', 'MAY', 'JUN', 'JUL', 'AUG', 'SEP', 'OCT', 'NOV', 'DEC'],
          },
        },
      },
      'day 5 at 02:30:00Z',
      '2099-03-05 02:30:00Z',
    ],
    [
      'yearly',
      ['--at', '02:30', '--day', '1', '--months', 'JUN,DEC'],
      { pattern: { time: '02:30:00Z', yearly: { day: 1, months: ['JUN', 'DEC'] } } },
      'day 1 of JUN,DEC at 02:30:00Z',
      '2099-06-01 02:30:00Z',
    ],
    ['once', [], {}, 'once', '2099-03-02 02:30:00Z'],
  ]

  test.each(rhythms)(
    '%s: create makes the rhythm that it says, show and list tell it',
    async (id, options, repeating, words, next) => {
      const made = await cli.run([
        'tasks',
        'create',
        'REFRESH_INFO',
        '--id',
        id,
        '--name',
        `Task ${id}`,
        ...request,
        ...options,
      ])
      expect([made.code, made.stderr]).toEqual([0, ''])
      const { task } = (await house.call<{ task: TaskView }>('GET', `/north/v80/operation/tasks/${id}`)).body
      expect(task.schedule).toMatchObject({ start: { date: '2099-03-02T02:30:00.000Z' } })
      expect((task.schedule as { repeating?: object }).repeating ?? {}).toMatchObject(repeating)
      expect(await shown(`tasks show ${id}`)).toEqual([
        ['Task', id],
        ['Name', `Task ${id}`],
        ['State', 'ACTIVE'],
        ['User', ADMIN],
        ['Repeats', words],
        ['Next', next],
        ['Jobs', '0'],
        ['Type', 'REFRESH_INFO'],
        ['Request', JSON.stringify(task.job.request)],
      ])
      const [titles, ...rows] = await shown('tasks list')
      expect(titles).toEqual(['ID', 'NAME', 'STATE', 'TYPE', 'REPEATS', 'NEXT', 'JOBS', 'SKIPPED', 'USER'])
      expect(rows).toContainEqual([id, `Task ${id}`, 'ACTIVE', 'REFRESH_INFO', words, next, '0', '0', ADMIN])
    },
  )

  test('of chosen months are told with them', async () => {
    const repeating = { pattern: { time: '02:30:00Z', monthly: { day: 5, months: ['MAR', 'SEP'] } } }
    const request = {
      name: 'REFRESH_INFO',
      active: true,
      target: { append: { entities: ['meter-1'] } },
      schedule: { stop: { delayed: 60_000 } },
    }
    const task = { id: 'halves', name: 'Halves', active: true, schedule: { repeating }, job: { request } }
    const made = await house.call('POST', '/north/v80/operation/tasks', { task })
    expect([made.status, made.body]).toEqual([201, expect.anything()])
    expect(await shown('tasks show halves')).toContainEqual(['Repeats', 'day 5 of MAR,SEP at 02:30:00Z'])
  })
})

describe('a bar shows on a terminal how far', () => {
  const watch = (args: readonly string[]) => cli.run(args, { watched: true })

  test('a job that is watched has come, by state', async () => {
    const { code, stderr, stdout } = await watch(['jobs', 'watch', ended])
    expect(code).toBe(0)
    // A terminal of no known width is taken for one of 80 columns.
    expect(stderr).toMatch(/ █{40} 1\/1 {2}FINISHED {4}· scheduled 0 · /)
    expect(stdout).not.toContain('█')
  })

  test('a job that is run and waited for has come', async () => {
    const run = ['jobs', 'run', 'REFRESH_INFO', '-e', 'meter-1', '--timeout', '60s', '--stop', '1s', '--wait']
    const { code, stderr } = await watch(run)
    expect(code).toBe(12)
    expect(stderr).toMatch(/ █{40} 1\/1 {2}TIMEOUT_CANCELLED · scheduled 0/)
  })

  test('devices are imported', async () => {
    const file = path.join(cli.home, 'devices.csv')
    await writeFile(file, 'provision.device.identifier\nnew-1\nnew-2\nmeter-1\n')
    const { code, stderr } = await watch(['devices', 'import', file, '--keys', path.join(cli.home, 'keys.csv')])
    expect(code).toBe(1)
    expect(stderr).toMatch(/Importing █+ 100% 3 rows, 1 refused/)
  })

  test('jobs are verified', async () => {
    const { code, stderr, stdout } = await watch(['verify'])
    expect([code, stdout]).toEqual([0, expect.stringMatching(/^\d+ jobs verified: the counters agree/)])
    const jobs = stdout.split(' ')[0]
    expect(stderr).toMatch(new RegExp(`Verifying █+ 100% ${jobs} of ${jobs} jobs`))
  })
})
