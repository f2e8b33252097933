/** What commands do, say and end with, against a running service. */
import { readFile, stat, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { describe, expect, test } from 'vitest'
import type { JobView } from '../../src/contract/client/client.ts'
import { ADMIN, openHouse } from '../service/house.ts'
import { openCommandLine } from './command-line.ts'

const house = await openHouse()
const cli = await openCommandLine({ DROVER_URL: house.url, DROVER_API_KEY: house.apiKey })
const inFile = (name: string) => path.join(cli.home, name)

await house.provision('meter-1', { 'provision.administration.tags': ['meters'] })
const key = await house.provision('asking')
await cli.run('tasks create REFRESH_INFO --tag none --every 1h --timeout 60s --stop 30m'.split(' '))

async function job(...args: string[]): Promise<JobView> {
  const ran = await cli.run(['jobs', 'run', 'REFRESH_INFO', '--timeout', '60s', '--json', ...args])
  expect(ran.stderr).toBe('')
  return JSON.parse(ran.stdout)
}

/** The device asks for its work, and says how it ended. */
async function asks(resultCode: string): Promise<void> {
  const asked = await house.south<{ operation: { request: { id: string } } }>(
    'asking',
    key,
    'operation/pending?wait=30',
  )
  const { id } = asked.body.operation.request
  await house.south('asking', key, 'operation/response', {
    version: '8.0',
    operation: { response: { id, resultCode } },
  })
}

describe('exit codes', () => {
  test('2: the command line is not right', async () => {
    const wrong = [
      ['jobs', 'lst'],
      ['jobs', 'show'],
      ['jobs', 'list', '--nothing'],
      ['jobs', 'run', 'REFRESH_INFO', '-e', 'a', '--tag', 'b'],
    ]
    for (const args of wrong) {
      const { code, stderr, stdout } = await cli.run(args)
      expect([code, stdout]).toEqual([2, ''])
      expect(stderr).not.toBe('')
    }
    expect((await cli.run(['jobs', 'lst'])).stderr).toBe("drover: unknown command 'lst' (Did you mean list?)\n")
  })

  test('3: the service cannot be reached', async () => {
    const { code, stderr } = await cli.run(['jobs', 'list', '--url', 'http://127.0.0.1:1'])
    expect(code).toBe(3)
    expect(stderr).toContain('The service at http://127.0.0.1:1 cannot be reached')
  })

  test('4: the service refused it, and says why', async () => {
    const { code, stderr } = await cli.run(['jobs', 'run', 'NO_SUCH_TYPE', '-e', 'meter-1'])
    expect(code).toBe(4)
    expect(stderr).toContain('The organization has no operation type of this name.')
  })

  test('5: not signed in, or with a key that is not good', async () => {
    const nobody = await cli.run(['jobs', 'list'], { env: { DROVER_API_KEY: undefined } })
    const stranger = await cli.run(['jobs', 'list'], { env: { DROVER_API_KEY: 'not-a-key' } })
    expect([nobody.code, stranger.code]).toEqual([5, 5])
    expect(nobody.stderr).toContain('Sign in with `drover login`, or set DROVER_API_KEY.')
  })

  test('6: there is no such thing', async () => {
    const ran = await Promise.all([
      cli.run(['jobs', 'show', '0000000000000000']),
      cli.run(['devices', 'show', 'nobody']),
      cli.run(['types', 'show', 'NOTHING']),
    ])
    expect(ran.map(({ code }) => code)).toEqual([6, 6, 6])
  })

  test('7: it did not come in time', async () => {
    const { id } = await job('-e', 'meter-1')
    const { code, stderr } = await cli.run(['jobs', 'watch', id, '--within', '500ms'])
    expect(code).toBe(7)
    expect(stderr).toContain(`Job ${id} is still IN_PROGRESS.`)
    await cli.run(['jobs', 'cancel', id])
  })

  test('0, 10, 11 and 12: how the job that was waited for ended', async () => {
    const wait = (...args: string[]) =>
      cli.run(['jobs', 'run', 'REFRESH_INFO', '-e', 'asking', '--timeout', '60s', '--wait', ...args])
    const fine = wait()
    await asks('SUCCESSFUL')
    expect((await fine).code).toBe(0)
    const failed = wait()
    await asks('ERROR_PROCESSING')
    expect((await failed).code).toBe(10)
    expect((await wait('--stop', '1s')).code).toBe(12)
    const { id } = await job('-e', 'asking', '--inactive')
    await cli.run(['jobs', 'cancel', id])
    expect((await cli.run(['jobs', 'watch', id])).code).toBe(11)
  })

  test('130: it was interrupted', async () => {
    const { id } = await job('-e', 'meter-1', '--inactive')
    const interruption = new AbortController()
    const watching = cli.run(['jobs', 'watch', id], { signal: interruption.signal })
    interruption.abort()
    expect((await watching).code).toBe(130)
  })

  test('for programs, a failure is one line of JSON on standard error', async () => {
    const { code, stdout, stderr } = await cli.run(['jobs', 'show', '0000000000000000', '--json'])
    expect(stdout).toBe('')
    expect(JSON.parse(stderr)).toMatchObject({
      error: { kind: 'notFound', exitCode: code, status: 404, errors: [{ code: '0x010005' }] },
    })
  })

  test.each([
    ['jobs lst --json', "unknown command 'lst' (Did you mean list?)"],
    ['jobs show --json', "missing required argument 'job'"],
    ['jobs list --limit none --json', expect.stringContaining('It must be a whole number above 0.')],
    ['search nothing --json', expect.stringContaining('What is searched is one of jobs')],
    ['simulate --json', "unknown option '--json'"],
    ['prune --months 2000 --json', expect.stringContaining('at most 1200')],
  ])('for programs, "%s" is told in JSON too', async (line, message) => {
    const { code, stdout, stderr } = await cli.run(line.split(' '))
    expect([code, stdout]).toEqual([2, ''])
    expect(JSON.parse(stderr)).toEqual({ error: { kind: 'usage', exitCode: 2, message } })
  })

  test.each([
    ['simulate --nothing', "unknown option '--nothing'"],
    ['simulate --devices many', 'devices must be a whole number from 1 to 1000000, not NaN.'],
    ['simulate --fail 2', 'fail must be a number from 0 to 1, not 2.'],
    ['simulate --latency soon', 'latency must read like 200, 50..500 or exp:200, not soon'],
  ])('"%s" is refused before a fleet is started', async (line, words) => {
    const { code, stdout, stderr } = await cli.run(line.split(' '))
    expect([code, stdout]).toEqual([2, ''])
    expect(stderr).toContain(words)
  })
})

describe('login', () => {
  test('the token lies in a file of its owner alone and serves the next commands, at that service only', async () => {
    const env = { DROVER_API_KEY: undefined, DROVER_URL: undefined }
    const stdin = `${house.password}\n`
    const login = await cli.run(['login', '--url', house.url, '--email', ADMIN, '--password-stdin', '--json'], {
      env,
      stdin,
    })
    expect(login.code).toBe(0)
    const { file } = JSON.parse(login.stdout)
    expect((await stat(file)).mode & 0o777).toBe(0o600)
    const { token } = JSON.parse(await readFile(file, 'utf8'))
    expect(token.split('.')).toHaveLength(3)
    expect(await readFile(file, 'utf8')).not.toContain(house.password)

    expect((await cli.run(['jobs', 'list'], { env })).code).toBe(0)
    const elsewhere = await cli.run(['jobs', 'list', '--url', 'http://127.0.0.1:1'], { env })
    expect([elsewhere.code, elsewhere.stderr]).toEqual([
      5,
      expect.stringContaining(`signed in to ${house.url}, not to`),
    ])
    const said = JSON.stringify([login, await cli.run(['types', 'list'], { env })])
    for (const secret of [token, house.password, house.apiKey]) expect(said).not.toContain(secret)

    expect((await cli.run(['jobs', 'list'], { env: { DROVER_API_KEY: 'not-a-key' } })).code).toBe(5)
    expect((await cli.run(['logout'], { env })).stdout).toBe('Signed out.\n')
    expect((await cli.run(['jobs', 'list', '--url', house.url], { env })).code).toBe(5)
  })

  test('a password that is typed is not shown', async () => {
    const ran = await cli.run(['login', '--email', ADMIN], { stdin: `${house.password}\n`, terminal: true })
    expect(ran.stderr).toContain('Password: ')
    expect([ran.code, ran.stderr.includes(house.password)]).toEqual([0, false])
  })

  test('a wrong password is told and keeps nothing', async () => {
    await cli.run(['logout'])
    const ran = await cli.run(['login', '--email', ADMIN, '--password-stdin'], { stdin: 'wrong\n' })
    expect(ran.code).toBe(5)
    expect((await cli.run(['logout'])).stdout).toBe('Nobody was signed in.\n')
  })
})

describe('jobs', () => {
  test('a list that is longer than a request takes is built in parts, and told as one job', async () => {
    const ids = Array.from({ length: 250 }, (_, at) => `sleeper-${at}`)
    await writeFile(inFile('sleepers.csv'), `provision.device.identifier\n${ids.join('\n')}\n`)
    expect((await cli.run(['devices', 'import', inFile('sleepers.csv')])).code).toBe(0)
    await writeFile(inFile('targets.txt'), `# all of them, and one that is not there\n${ids.join('\n')}\nghost\n`)
    const { id, report } = await job('--file', inFile('targets.txt'))
    expect(report.summary).toMatchObject({ status: 'IN_PROGRESS', total: 250 })
    expect(report.target).toEqual({ notProvisioned: ['ghost'] })
    expect(JSON.parse((await cli.run(['jobs', 'cancel', id, '--json'])).stdout).id).toBe(id)
  })

  test('a job that cannot be built to its end is cancelled', async () => {
    const ids = Array.from({ length: 150 }, (_, at) => `ghost-${at}`)
    await writeFile(inFile('ghosts.txt'), ids.join('\n'))
    const ran = await cli.run([
      'jobs',
      'run',
      'REFRESH_INFO',
      '--file',
      inFile('ghosts.txt'),
      '--timeout',
      '60s',
      '--notes',
      'ghosts',
    ])
    expect(ran.code).toBe(4)
    const found = JSON.parse((await cli.run(['jobs', 'list', '--where', 'jobUserNotes=ghosts', '--json'])).stdout)
    expect(found.map(({ report }: JobView) => report.summary.status)).toEqual(['CANCELLED'])
  })

  test('schedule, window, scattering and retries reach the service as they were meant', async () => {
    const { request } = await job(
      ...[
        '--tag',
        'meters',
        '--inactive',
        '--start',
        '10m',
        '--stop',
        '7d',
        '--window',
        'MON-FRI 22:00-06:00',
        '--timezone',
        'Europe/Madrid',
      ],
      ...[
        '--spread',
        '80',
        '--by-cell',
        '50',
        '--ack-timeout',
        '30s',
        '--timeout',
        '10m',
        '--retries',
        '2',
        '--retries-delay',
        '1m',
      ],
      ...['--retry-on', 'ERROR_PROCESSING', '--notes', 'a night'],
    )
    expect(request).toMatchObject({
      schedule: {
        start: { delayed: 600_000 },
        stop: { delayed: 604_800_000 },
        window: { weekly: [{ days: ['MON', 'TUE', 'WED', 'THU', 'FRI'] }], timezone: 'Europe/Madrid' },
        scattering: { maxSpread: 80, strategy: { field: 'subscription.collected.cellInfo', factor: 50 } },
      },
      operationParameters: { ackTimeout: 30_000, timeout: 600_000, retries: 2, retriesDelay: 60_000 },
      target: { append: { tags: ['meters'] } },
      userNotes: 'a night',
    })
  })

  test('people are told the id alone on standard output, and what to know beside it', async () => {
    const ran = await cli.run([
      'jobs',
      'run',
      'REFRESH_INFO',
      '-e',
      'meter-1,nobody,meter-1',
      '--timeout',
      '60s',
      '--inactive',
    ])
    expect(ran.stdout).toMatch(/^[0-9a-f]{16}\n$/)
    expect(ran.stderr).toContain('REFRESH_INFO on 1 entity, IDLE.')
    expect(ran.stderr).toContain('1 not provisioned: nobody\n1 named twice: meter-1\n')
  })

  test('watched by a program, every change of the job is a line', async () => {
    const { id } = await job('-e', 'asking')
    const watching = cli.run(['jobs', 'watch', id, '--json'])
    await asks('SUCCESSFUL')
    const { code, stdout } = await watching
    const states = stdout
      .trim()
      .split('\n')
      .map(line => (JSON.parse(line) as JobView).report.summary.status)
    expect([code, states.at(-1)]).toEqual([0, 'FINISHED'])
  })
})

describe('devices import', () => {
  test('every row has its result, keys go into a file of their owner alone, and are told nowhere else', async () => {
    const rows = [{ 'provision.device.identifier': 'new-1' }, { 'provision.device.identifier': 'meter-1' }, {}]
    await writeFile(inFile('rows.ndjson'), rows.map(row => JSON.stringify(row)).join('\n'))
    const ran = await cli.run([
      'devices',
      'import',
      inFile('rows.ndjson'),
      '--keys',
      inFile('keys.csv'),
      '--batch',
      '2',
      '--json',
    ])
    expect(ran.code).toBe(1)
    const results = ran.stdout
      .trim()
      .split('\n')
      .map(line => JSON.parse(line))
    expect(results.map(({ row, statusCode }) => [row, statusCode])).toEqual([
      [1, 201],
      [2, 400],
      [3, 400],
    ])
    expect((await stat(inFile('keys.csv'))).mode & 0o777).toBe(0o600)
    const kept = (await readFile(inFile('keys.csv'), 'utf8')).split('\n')
    expect(kept.slice(0, 2)).toEqual(['identifier;apiKey', expect.stringMatching(/^new-1;.+/)])
    expect(ran.stdout).not.toContain(kept[1]!.split(';')[1])
    const again = await cli.run(['devices', 'import', inFile('rows.ndjson'), '--keys', inFile('keys.csv')])
    expect([again.code, again.stderr]).toEqual([2, expect.stringContaining('keys are not written over')])
  })

  test('a file that is not what it says is told with its place', async () => {
    await writeFile(inFile('broken.json'), '[{"provision.device.identifier": "x"}, 5]')
    const ran = await cli.run(['devices', 'import', inFile('broken.json')])
    expect([ran.code, ran.stderr]).toEqual([2, expect.stringContaining('"5" stands where an object should')])
    expect((await cli.run(['devices', 'import', inFile('nothing.csv')])).code).toBe(2)
  })
})

describe('users', () => {
  const email = 'ana@example.com'
  const asAna = (password: string) =>
    cli.run(['login', '--email', email, '--password-stdin', '--json'], { stdin: `${password}\n` })

  test('are made, shown, changed, given passwords and keys, and removed', async () => {
    const make = ['users', 'create', email, '--profile', 'viewer', '--name', 'Ana', '--password-stdin']
    const made = await cli.run(make, { stdin: 'the first password\n' })
    expect([made.code, made.stderr]).toEqual([0, ''])
    expect(made.stdout).toMatch(/Email +ana@example.com\nProfile +viewer\nOrganization +drover\nname +Ana\n/)
    expect((await asAna('the first password')).code).toBe(0)

    const listed = await cli.run(['users', 'list', '--profile', 'viewer'])
    expect(listed.stdout).toMatch(/^EMAIL +PROFILE +ORGANIZATION.*\nana@example.com +viewer +drover +Ana\n$/)
    const changed = await cli.run(['users', 'change', email, '--profile', 'advanced', '--set', 'langCode=en', '--json'])
    expect(JSON.parse(changed.stdout)).toMatchObject({ email, profile: 'advanced', langCode: 'en' })

    const password = await cli.run(['users', 'password', email, '--password-stdin'], { stdin: 'the second password\n' })
    expect(password.stdout).toBe(`The password of ${email} is changed; its tokens have ended.\n`)
    expect([(await asAna('the first password')).code, (await asAna('the second password')).code]).toEqual([5, 0])

    const key = async (...more: string[]) => (await cli.run(['users', 'key', email, ...more])).stdout.trim()
    const [first, second] = [await key(), await key('--new')]
    expect(second).not.toBe(first)
    const asks = async (apiKey: string) => (await cli.run(['jobs', 'list'], { env: { DROVER_API_KEY: apiKey } })).code
    expect(await asks(second)).toBe(0)
    await expect.poll(() => asks(first), { timeout: 45_000 }).toBe(5)

    expect((await cli.run(['users', 'delete', email])).stdout).toBe(`User ${email} is removed.\n`)
    expect((await cli.run(['users', 'show', email])).code).toBe(6)
  })

  test('show their keys nowhere but where one is asked for', async () => {
    const shown = [
      await cli.run(['users', 'show', ADMIN]),
      await cli.run(['users', 'show', ADMIN, '--json']),
      await cli.run(['users', 'list', '--json']),
    ]
    for (const { stdout } of shown) {
      expect(stdout).toContain(ADMIN)
      expect(stdout).not.toContain(house.apiKey)
    }
    expect((await cli.run(['users', 'key', ADMIN])).stdout).toBe(`${house.apiKey}\n`)
  })

  test('change their own password with the present one', async () => {
    const [present, next] = ['the password of bea', 'another one of bea']
    const make = ['users', 'create', 'bea@example.com', '--profile', 'advanced', '--password-stdin']
    await cli.run(make, { stdin: `${present}\n` })
    const env = { DROVER_API_KEY: (await cli.run(['users', 'key', 'bea@example.com'])).stdout.trim() }
    const change = (stdin: string, ...own: string[]) =>
      cli.run(['users', 'password', 'bea@example.com', '--password-stdin', ...own], { env, stdin })
    expect((await change(`${next}\n`)).code).not.toBe(0)
    expect((await change(`wrong\n${next}\n`, '--own')).code).not.toBe(0)
    expect((await change(`${present}\n${next}\n`, '--own')).code).toBe(0)
  })
})

describe('audit', () => {
  test('shows who did what, the latest first, for people, for programs and as CSV', async () => {
    const make = ['users', 'create', 'seen@example.com', '--profile', 'viewer', '--password-stdin']
    await cli.run(make, { stdin: 'a good password\n' })
    const people = await cli.run(['audit', '--user', ADMIN, '--from', '2020-01-01', '--limit', '5'])
    expect([people.code, people.stderr]).toEqual([0, ''])
    const [titles, latest] = people.stdout.split('\n')
    expect(titles).toMatch(/^DATE +USER +METHOD +PATH +STATUS/)
    expect(latest).toMatch(/admin@drover.test +POST +\/north\/v80\/provision\/users +201/)
    const programs = JSON.parse((await cli.run(['audit', '--user', ADMIN, '--limit', '1', '--json'])).stdout)
    expect(programs).toMatchObject([{ user: ADMIN, method: 'POST', status: 201 }])
    const csv = await cli.run(['audit', '--csv'])
    expect(csv.stdout).toMatch(/^date;user;method;path;address;status;errorCode;requestId\n/)
    expect(csv.stdout.split('\n').length).toBeGreaterThan(3)
    expect((await cli.run(['audit', '--to', '2020-01-01'])).stdout).toBe('Nothing was done.\n')
  })

  test('refuses a time that is none', async () => {
    const { code, stderr } = await cli.run(['audit', '--from', 'yesterday'])
    expect([code, stderr]).toEqual([
      2,
      'drover: --from must be a time such as 08:00 or 2026-03-02T08:00, not "yesterday".\n',
    ])
  })
})

test.each([
  'search devices --csv',
  'search devices --all',
  'search devices --limit 5000',
  'search devices --all --json',
  'operations list --all',
  'operations list --all --json',
  'operations list --ended --limit 2000',
  'jobs list --limit 2000',
  'tasks list --limit 2000',
  'devices list --limit 2000',
  'users list --limit 2000 --json',
  'audit --limit 2000',
  'audit --csv',
])('%s shows how far it has come where somebody watches, and nothing of it in the answer', async line => {
  const args = line.split(' ')
  const [watched, unwatched] = [await cli.run(args, { watched: true }), await cli.run(args)]
  expect([watched.code, unwatched.code, unwatched.stderr]).toEqual([0, 0, ''])
  expect(watched.stderr).toContain('Reading')
  const [, come, all] = /(\d+) of (\d+) rows(?!.* of )/s.exec(watched.stderr) ?? []
  expect([come, all]).toEqual([all, expect.any(String)])
  expect(watched.stdout).not.toContain('Reading')
  expect(watched.stdout.split('\n')[0]).toBe(unwatched.stdout.split('\n')[0])
})
