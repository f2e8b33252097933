import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import type { Page } from 'playwright-core'
import { beforeAll, describe, expect, test } from 'vitest'
import { bringUpFleet } from '../service/fleet.ts'
import { createJob, readJob } from '../service/jobs.ts'
import { accessibilityFaults, type Console, hasBrowser, openConsole } from './browser.ts'

/** Compressed bytes that a view may load when its address is opened first: page, scripts, styles and pictures. */
const FIRST_LOAD_MAX = 250 * 1_000

interface View {
  readonly name: string
  readonly address: () => string
  /** what is there once the view is */
  readonly shows: string
  /** what a form that only gathers has not: figures that change, and a request to show as a command */
  readonly without?: readonly ('figures' | 'command')[]
}

const GATHERS = ['figures', 'command'] as const

let job = ''
let operation = ''

const views: readonly View[] = [
  { name: 'overview', address: () => '/', shows: 'Operations per second' },
  { name: 'jobs', address: () => '/jobs', shows: 'Meters of the north' },
  { name: 'job', address: () => `/jobs/${job}`, shows: 'Show these devices' },
  { name: 'operation', address: () => `/jobs/${job}/operations/${operation}`, shows: 'Timeline' },
  { name: 'launch-what', address: () => '/launch/what?type=UPDATE', shows: 'Version of the bundle', without: GATHERS },
  {
    name: 'launch-whom',
    address: () => '/launch/whom?type=REFRESH_INFO&device=meter-1',
    shows: 'Found now',
    without: ['figures'],
  },
  {
    name: 'launch-when',
    address: () => '/launch/when?type=REFRESH_INFO&device=meter-1',
    shows: 'Scattering',
    without: GATHERS,
  },
  {
    name: 'launch-plan',
    address: () => '/launch/plan?type=REFRESH_INFO&device=meter-1',
    shows: 'Refresh information on 1 device',
    without: ['figures'],
  },
  { name: 'tasks', address: () => '/tasks', shows: 'Nightly refresh' },
  { name: 'calendar', address: () => '/tasks?view=calendar', shows: 'Nightly refresh' },
  { name: 'task', address: () => '/tasks/nightly', shows: 'every day at 02:30 UTC+01:00' },
  {
    name: 'new-task',
    address: () => '/tasks/new/when?type=REFRESH_INFO&device=meter-1',
    shows: 'How often',
    without: GATHERS,
  },
  { name: 'types', address: () => '/types', shows: 'Restarts the device.' },
  { name: 'catalog', address: () => '/types?view=catalog', shows: 'Clone' },
  { name: 'type', address: () => '/types/REBOOT_EQUIPMENT', shows: 'Kind of reboot', without: ['figures'] },
  { name: 'new-type', address: () => '/types/new', shows: 'Form preview', without: ['figures'] },
  { name: 'devices', address: () => '/devices', shows: 'meter-1' },
  { name: 'device', address: () => '/devices/meter-1', shows: 'battery.level' },
  { name: 'deliveries', address: () => '/deliveries', shows: 'jobFinished' },
  { name: 'audit', address: () => '/audit', shows: '/north/v80/operation/jobs' },
  { name: 'users', address: () => '/users', shows: 'New user' },
  { name: 'account', address: () => '/account', shows: 'Change your password', without: ['figures'] },
]

describe.skipIf(!hasBrowser)('every view', () => {
  let at: Console

  beforeAll(async () => {
    at = await openConsole()
    const { house } = at
    const fleet = await bringUpFleet(house, {
      devices: 24,
      prefix: 'meter',
      flows: { 'http-sync': 1, pull: 1 },
      fail: 0.3,
    })
    await house.call('POST', '/south/v80/devices/meter-1/collect/iot', {
      version: '8.0',
      datastreams: [{ id: 'battery.level', datapoints: [{ value: 87 }] }],
    })
    const made = await createJob(house.client, {
      name: 'REFRESH_INFO',
      target: { append: { tags: ['meter'] } },
      callback: 'http://127.0.0.1:9/nobody',
      userNotes: 'Meters of the north',
    })
    job = made.id
    await createJob(house.client, {
      name: 'REBOOT_EQUIPMENT',
      target: { append: { tags: ['meter'] } },
      active: false,
      userNotes: 'Waits for a person',
    })
    await house.call('POST', '/north/v80/operation/tasks', {
      task: {
        id: 'nightly',
        name: 'Nightly refresh',
        schedule: { repeating: { pattern: { time: '02:30:00+01:00' } } },
        job: { request: { name: 'REFRESH_INFO', target: { append: { tags: ['meter'] } } } },
      },
    })
    while (!(await readJob(house.client, job)).report.summary.status.startsWith('FINISHED')) await sleep(100)
    operation = (await house.operationOf(job))?.operationId ?? ''
    await fleet.stop()
  })

  /** Waits until the view is there, and nothing of it is still being loaded. */
  async function seen(page: Page, { shows }: View): Promise<void> {
    await page.getByText(shows, { exact: false }).first().waitFor({ state: 'attached' })
    await settled(page)
  }

  /** What each view keeps to, in both schemes, on a wide screen and on a phone. */
  async function isAsItMustBe(page: Page): Promise<void> {
    expect(await firstLoad(page)).toBeLessThan(FIRST_LOAD_MAX)
    expect(await accessibilityFaults(page)).toEqual([])

    await page.emulateMedia({ colorScheme: 'dark', reducedMotion: 'reduce' })
    await page.locator('html[data-mantine-color-scheme="dark"]').waitFor()
    expect(await accessibilityFaults(page)).toEqual([])

    await page.setViewportSize({ width: 390, height: 844 })
    await expect.poll(() => tooWide(page), { timeout: 10_000 }).toEqual([])
    await expect.poll(() => cramped(page), { timeout: 10_000 }).toEqual([])
    expect(await accessibilityFaults(page)).toEqual([])
  }

  test.each(views)(
    '$name keeps to WCAG AA in both schemes and to the content security policy, fits a phone, and tells times, commands and the age of figures',
    async view => {
      const page = await at.visit(view.address())
      await seen(page, view)
      const { without = [] } = view
      await expect.poll(() => timesWithoutUtc(page)).toEqual([])
      await expect.poll(() => tablesWithoutFile(page)).toEqual([])
      const commands = page.locator('#main').getByRole('button', { name: / with curl$/ })
      const told = (await commands.count()) + (await page.getByText('The same with curl').count())
      expect(told > 0).toBe(!without.includes('command'))
      if (!without.includes('figures')) await page.locator('#main .as-of time').first().waitFor()
      await isAsItMustBe(page)
    },
  )

  test('the door keeps to all that, too', async () => {
    const page = await at.visit('/jobs', { as: false })
    await page.getByRole('heading', { name: 'Sign in to Drover' }).waitFor()
    await isAsItMustBe(page)
  })

  test('every address that the console has is among the views that are looked at here', async () => {
    const text = await readFile(new URL('../../src/console/app.tsx', import.meta.url), 'utf8')
    const addresses = [...text.matchAll(/\{ path: '([^']+)'/g)].map(([, address = '']) => address)
    expect(addresses.length).toBeGreaterThan(10)
    const patterns = addresses.map(
      each => new RegExp(`^${each.replace(/\/:\w+\?/g, '(/[^/]+)?').replace(/:\w+/g, '[^/]+')}$`),
    )
    const pathOf = (view: View) => view.address().replace(/\?.*/, '')
    const shown = new Set(views.map(view => addresses[patterns.findIndex(each => each.test(pathOf(view)))]))
    expect([...shown].toSorted()).toEqual(addresses.toSorted())
  })

  test('a type with a pattern loads no more at first, and its pattern is judged once something is filled in', async () => {
    const word = { type: 'string', title: 'Word', pattern: '^a+$' }
    const { status } = await at.house.call('POST', '/north/v80/operationTypes/provision/organizations/drover', {
      name: 'SAY_WORD',
      applicableTo: ['entity.device'],
      parameters: { type: 'object', properties: { word } },
    })
    expect(status).toBe(201)
    for (const address of ['/types/SAY_WORD', '/launch/what?type=SAY_WORD']) {
      const page = await at.visit(address)
      await seen(page, { name: '', address: () => address, shows: 'Word' })
      expect(await firstLoad(page)).toBeLessThan(FIRST_LOAD_MAX)
      const { promise: filledIn, resolve: release } = Promise.withResolvers<void>()
      await page.route('**/console/assets/*.js', async route => {
        await filledIn
        await route.continue()
      })
      const asked = page.waitForRequest('**/console/assets/*.js')
      await page.getByLabel('Word').fill('b')
      await asked
      await expect.poll(() => page.getByLabel('Word').inputValue()).toBe('b')
      release()
      await page.getByText('does not match the pattern ^a+$').first().waitFor()
      await page.getByLabel('Word').fill('aa')
      await page.getByText('does not match the pattern ^a+$').first().waitFor({ state: 'detached' })
    }
  })

  test('figures that change carry the time at which they were learned, in each part of a job and its operation', async () => {
    const page = await at.visit(`/jobs/${job}/operations/${operation}`)
    for (const part of ['Plan and progress', 'Failures', 'Operations']) {
      await page.getByRole('region', { name: part, exact: true }).locator('.as-of time').waitFor()
    }
    await page.locator('.operation .as-of time').first().waitFor()
    await page.goto(`${at.house.url}/console/devices/meter-1`)
    for (const part of ['Connection', 'Open operations', 'Ended operations']) {
      await page.getByRole('region', { name: part, exact: true }).first().locator('.as-of time').waitFor()
    }
    await page.goto(`${at.house.url}/console/tasks?view=calendar`)
    await page.locator('.as-of time').waitFor()
  })

  test('a run of the calendar and a point of a curve tell UTC on hover, and the runs of a day that are alike are one line', async () => {
    await at.house.call('POST', '/north/v80/operation/tasks', {
      task: {
        id: 'often',
        name: 'Often',
        schedule: { start: { date: '2099-03-10T09:00:00Z' }, repeating: { period: { each: 1, unit: 'HOURS' } } },
        job: { request: { name: 'REFRESH_INFO', target: { append: { tags: ['meter'] } } } },
      },
    })
    const page = await at.visit('/tasks?view=calendar&month=2099-03')
    // Ten in Madrid; fourteen are left of the day there.
    const run = page.getByRole('listitem', { name: '2099-03-10' }).getByRole('link', { name: 'Often' })
    expect(await run.textContent()).toMatch(/^10:00Often× 14/)
    expect(await run.getAttribute('title')).toBe(
      'Often to come, 2099-03-10 09:00:00.000 UTC to 2099-03-10 22:00:00.000 UTC',
    )
    await page.goto(`${at.house.url}/console/jobs/${job}`)
    const curve = page.getByRole('region', { name: 'Plan and progress' }).locator('.u-over')
    await curve.hover()
    await expect.poll(() => page.locator('.chart-tip').textContent()).toMatch(/\d{4}-\d\d-\d\d [\d:.]+ UTC$/)
  })

  test('a task that runs every minute hides no other in the calendar, and is said to be cut', async () => {
    for (const [id, name, repeating] of [
      ['minutely', 'Every minute', { period: { each: 1, unit: 'MINUTES' } }],
      ['noon', 'At noon', { pattern: { time: '12:00:00Z' } }],
    ] as const) {
      const schedule = { start: { date: '2098-03-01T00:00:00Z' }, repeating }
      const job = { request: { name: 'REFRESH_INFO', target: { append: { tags: ['meter'] } } } }
      const { status } = await at.house.call('POST', '/north/v80/operation/tasks', {
        task: { id, name, schedule, job },
      })
      expect(status).toBe(201)
    }
    const page = await at.visit('/tasks?view=calendar&month=2098-03')
    await page.getByText(/^Every minute runs too often to be told in full: here until 0[23] Mar/).waitFor()
    for (const day of ['2098-03-02', '2098-03-31']) {
      await page.getByRole('listitem', { name: day }).getByRole('link', { name: 'At noon' }).waitFor()
    }
    for (const id of ['minutely', 'noon']) await at.house.call('DELETE', `/north/v80/operation/tasks/${id}`)
  })

  test('a run of a task that has ended stands in the calendar by the name of the task, and leads to its job', async () => {
    const id = 'once'
    const job = { request: { name: 'REFRESH_INFO', target: { append: { tags: ['nobody-has-it'] } } } }
    const schedule = { repeating: { period: { each: 1, unit: 'DAYS' } }, stop: { executions: 1 } }
    const task = { id, name: 'Only once', schedule, job }
    expect((await at.house.call('POST', '/north/v80/operation/tasks', { task })).status).toBe(201)
    const jobs = async () =>
      (await at.house.call<{ jobs?: { id: string }[] } | undefined>('GET', `/north/v80/operation/tasks/${id}/jobs`))
        .body?.jobs ?? []
    await expect.poll(async () => (await jobs()).length).toBe(1)
    const [made] = await jobs()
    const page = await at.visit('/tasks?view=calendar')
    const run = page.getByRole('link', { name: 'Only once' })
    await expect.poll(() => run.getAttribute('href')).toBe(`/console/jobs/${made?.id}`)
  })

  /** The files of tables by their names: their first line, and what stands in them. */
  const files: readonly (readonly [name: RegExp, head: RegExp, holds: string])[] = [
    [/^jobs\.csv$/, /^id;taskId;/, 'REBOOT_EQUIPMENT'],
    [/^failures-/, /^count;/, 'ERROR_PROCESSING'],
    [/^operations-/, /^operationId;entityId;/, 'meter-23'],
    [/^tasks\.csv$/, /^id;name;/, 'Nightly refresh'],
    [/^jobs-of-nightly/, /^id;taskId;/, 'REFRESH_INFO'],
    [/^runs-/, /^date;taskId;name;status;jobId$/, ';nightly;Nightly refresh;to come;'],
    [/^operation-types/, /^name;title;/, 'REBOOT_EQUIPMENT;Reboot;'],
    [/^catalog/, /^name;title;/, 'REBOOT_EQUIPMENT;Reboot;'],
    [/^devices/, /identifier/, 'meter-23'],
    [/^latest-values-meter-1/, /^name;value;at$/, 'battery.level;87;20'],
    [/^provisioned-meter-1/, /^name;value;at$/, 'provision.device.identifier;meter-1;'],
    [/^open-meter-1/, /^operationId;jobId;/, 'REBOOT_EQUIPMENT'],
    [/^ended-meter-1/, /^operations\.operationId;/, 'REFRESH_INFO'],
    [/^deliveries/, /^id;jobId;event;/, 'jobFinished'],
    [/^audit/, /^date;user;/, '/north/v80/operation/jobs'],
    [/^users/, /^email;/, 'admin@drover.test'],
  ]

  test('every table comes as CSV, as it is filtered', async () => {
    const page = await at.visit('/account')
    const came = new Set<RegExp>()
    const narrowed = ['/types?words=reboot', '/types?view=catalog&words=reboot']
    for (const address of [...views.map(view => view.address()), ...narrowed]) {
      await page.goto(`${at.house.url}/console${address}`)
      await settled(page)
      for (const button of await page
        .locator('#main')
        .getByRole('button', { name: / as CSV$/ })
        .all()) {
        const [file] = await Promise.all([page.waitForEvent('download'), button.click()])
        const name = file.suggestedFilename()
        const [pattern, head, holds] = files.find(each => each[0].test(name)) ?? []
        expect(pattern, `a file that nothing is known of: ${name}`).toBeDefined()
        const text = await readFile(await file.path(), 'utf8')
        expect(text.split('\n')[0], name).toMatch(head ?? '')
        expect(text, name).toContain(holds)
        if (address.includes('words=')) expect(text, name).not.toContain('UPDATE')
        if (pattern) came.add(pattern)
      }
    }
    expect(files.filter(([pattern]) => !came.has(pattern))).toEqual([])
  })

  test('every command that a view shows does what it says', async () => {
    const page = await at.visit('/account')
    let run = 0
    for (const view of views) {
      await page.goto(`${at.house.url}/console${view.address()}`)
      await settled(page)
      for (const button of await page
        .locator('#main')
        .getByRole('button', { name: / with curl$/ })
        .all()) {
        await button.click()
        const shown = page.locator('.curl-popover').filter({ visible: true })
        await shown.locator('pre').first().waitFor()
        for (const command of await shown.locator('pre').allTextContents()) {
          expect(command).toContain('"$DROVER_URL/north/v80/')
          const env = { ...process.env, DROVER_URL: at.house.url, DROVER_API_KEY: at.house.apiKey }
          const { stdout } = await promisify(execFile)('sh', ['-c', command.replace('curl ', 'curl -fsS ')], { env })
          if (stdout !== '') JSON.parse(stdout)
          run += 1
        }
        await page.keyboard.press('Escape')
        await shown.waitFor({ state: 'detached' })
      }
    }
    expect(run).toBeGreaterThan(25)
  })

  test('an address that is no view says so', async () => {
    const page = await at.visit('/nowhere')
    await page.getByText('Nothing stands at this address.').waitFor()
  })
})

/** Compressed bytes of the console itself that the page has loaded; what it asked of the interface is not among them. */
function firstLoad(page: Page): Promise<number> {
  return page.evaluate(() =>
    [...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')]
      .filter(each => !each.name.includes('/north/'))
      .reduce((sum, each) => sum + (each as PerformanceResourceTiming).encodedBodySize, 0),
  )
}

/** Waits until nothing of the view is still being loaded. */
async function settled(page: Page): Promise<void> {
  await page.locator('#main h1').waitFor()
  const loading = page.locator('.spinner, .table-first-load, .row-loading')
  await expect.poll(() => loading.count(), { timeout: 45_000 }).toBe(0)
}

/** Times of the view that are not those of the viewer's zone, or do not tell UTC; and times that stand as mere text. */
function timesWithoutUtc(page: Page): Promise<string[]> {
  return page.evaluate(() => {
    const main = document.querySelector('#main') ?? document.body
    const clock = new Intl.DateTimeFormat('en-GB', { timeStyle: 'medium', timeZone: 'Europe/Madrid' })
    const wrong = [...main.querySelectorAll('time')].filter(each => {
      const at = new Date(each.dateTime)
      const title = each.closest<HTMLElement>('[title]')?.title ?? ''
      const utc = at.toISOString().replace('T', ' ').replace('Z', ' UTC')
      // Seconds are left out where a schedule has none.
      return !title.includes(utc) || !`${each.textContent} ${title}`.includes(clock.format(at).replace(/:00$/, ''))
    })
    const texts = document.createTreeWalker(main, NodeFilter.SHOW_TEXT)
    const bare: string[] = []
    while (texts.nextNode()) {
      const { data, parentElement } = texts.currentNode as Text
      // What a schedule says is no instant, and what stands in code is as it was written.
      if (/\d\d:\d\d:\d\d(?![Z+-])/.test(data) && !parentElement?.closest('time, pre, code, textarea, style'))
        bare.push(data)
    }
    return [...wrong.map(each => each.outerHTML), ...bare]
  })
}

/** Tables beside which there is no way to have them as CSV. */
function tablesWithoutFile(page: Page): Promise<string[]> {
  return page.evaluate(() =>
    [...document.querySelectorAll('#main table')]
      .filter(
        each => !(each.closest('.panel') ?? each.closest('#main'))?.querySelector('button[aria-label$=" as CSV"]'),
      )
      .map(each => each.outerHTML.slice(0, 200)),
  )
}

/** What reaches beyond a narrow screen, outside of what scrolls in itself. */
function tooWide(page: Page): Promise<unknown[]> {
  return page.evaluate(() => {
    const { documentElement: html } = document
    const place = document.querySelector('.content-scroll') ?? html
    const isWider = html.scrollWidth > html.clientWidth || place.scrollWidth > place.clientWidth
    const reaches = [...place.querySelectorAll('*')].filter(
      each => each.getBoundingClientRect().right > innerWidth && !each.closest('.table-scroll, .scroll-x'),
    )
    return isWider ? [place.scrollWidth, ...reaches.map(each => each.outerHTML.slice(0, 120))] : []
  })
}

/** Tables that must be scrolled sideways to be read, and their cells that are too narrow for a word. */
function cramped(page: Page): Promise<string[]> {
  return page.evaluate(() => {
    const wide = [...document.querySelectorAll('.table-scroll, .scroll-x')].filter(
      each => each.scrollWidth > each.clientWidth,
    )
    const narrow = [...document.querySelectorAll('.table th')].filter(each => {
      const { width } = each.getBoundingClientRect()
      return width > 0 && width < 64
    })
    return [...wide, ...narrow].map(each => each.outerHTML.slice(0, 120))
  })
}
