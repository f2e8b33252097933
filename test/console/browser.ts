/**
 * A real Chromium for the tests of the console, on the console as it is built now, served by a whole service. Where Chromium is not
 * installed the tests are left out, and it is said.
 */
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { type Browser, type BrowserContext, chromium, type Page, type Route } from 'playwright-core'
import { afterAll, afterEach, expect } from 'vitest'
import { ADMIN, type House, openHouse } from '../service/house.ts'
import { buildWhereOld } from './build.ts'

const CHROMIUM = process.env.DROVER_TEST_CHROMIUM ?? '/usr/bin/chromium'

/** Whether there is a browser to test with. */
export const hasBrowser = existsSync(CHROMIUM)
if (!hasBrowser)
  console.warn(`Left out: ${CHROMIUM} is not installed (apt-get install chromium), so no page is opened.`)

/** How long a page may take to show something, on a machine that does other work besides. */
const PATIENCE_MS = 45_000

export interface Visit {
  readonly dark?: boolean
  readonly phone?: boolean
  /** signs in beforehand, by email and password; false stays at the door */
  readonly as?: { readonly email: string; readonly password: string } | false
  /** the address of what stands between the browser and the service, `http://127.0.0.1:…`; nothing does otherwise */
  readonly through?: string
}

export interface Console {
  readonly house: House
  /** Opens a page on an address below `/console`. */
  visit(address: string, how?: Visit): Promise<Page>
  /** Takes complaints of the pages of this test that are meant to come for none. */
  forgive(complaints: RegExp): void
}

/** A service with the console, and a browser, for the tests of one file. */
export async function openConsole(variables: Record<string, string> = {}): Promise<Console> {
  await buildWhereOld()
  const house = await openHouse(variables)
  const browser = await launch()
  const contexts: BrowserContext[] = []
  const faults: string[] = []
  const forgiven: RegExp[] = []

  afterAll(() => browser.close())
  afterEach(async () => {
    for (const context of contexts.splice(0)) await context.close()
    const complaints = faults.splice(0).filter(each => !forgiven.some(meant => meant.test(each)))
    forgiven.length = 0
    expect(complaints, 'what the pages complained of').toEqual([])
  })

  return {
    house,
    forgive: complaints => void forgiven.push(complaints),
    async visit(address, how = {}) {
      const { dark = false, phone = false, through = house.url } = how
      const { as = { email: ADMIN, password: house.password } } = how
      const context = await browser.newContext({
        viewport: phone ? { width: 390, height: 844 } : { width: 1440, height: 900 },
        deviceScaleFactor: 1,
        hasTouch: phone,
        colorScheme: dark ? 'dark' : 'light',
        timezoneId: 'Europe/Madrid',
        locale: 'en-GB',
        reducedMotion: 'reduce',
      })
      context.setDefaultTimeout(PATIENCE_MS)
      contexts.push(context)
      const page = await context.newPage()
      // A violation of the content security policy is an error of the console, and so is a failed request.
      page.on('console', message => {
        if (message.type() === 'error' && !/status of 40[0-9]/.test(message.text())) faults.push(message.text())
      })
      page.on('pageerror', error => faults.push(String(error.stack ?? error)))
      page.on('request', request => {
        const to = new URL(request.url())
        if (to.origin !== through && to.protocol !== 'blob:') faults.push(`a request went to ${to.href}`)
      })
      if (as !== false) await signInBeforehand(context, house, as)
      await page.goto(`${through}/console${address}`)
      return page
    },
  }
}

/**
 * Confirms what the dialog of an action says, which must be that it touches so many devices; where these are a hundred or more, it must
 * not be done before their number is typed, and no other. A pause is done at once, however many they are.
 */
export async function confirm(page: Page, verb: string, devices: number): Promise<void> {
  const dialog = page.getByRole('dialog')
  await dialog.getByText(`This touches ${devices} device${devices === 1 ? '' : 's'}.`).waitFor()
  const button = dialog.getByRole('button', { name: verb, exact: true })
  const typed = dialog.getByLabel(/to confirm$/)
  const isTyped = devices >= 100 && verb !== 'Pause'
  expect(await typed.count()).toBe(isTyped ? 1 : 0)
  if (isTyped) {
    expect(await button.isDisabled()).toBe(true)
    await typed.fill(String(devices - 1))
    expect(await button.isDisabled()).toBe(true)
    await typed.fill(String(devices))
  }
  await button.click()
  await dialog.waitFor({ state: 'detached' })
}

/** Has the answer to the next request of this kind get lost on its way: the service has done it. Answers what it had answered. */
export function loseAnswer<Answered>(page: Page, method: string, address: string): Promise<Answered> {
  return new Promise(resolve => {
    let isLost = false
    const lose = async (route: Route) => {
      if (isLost || route.request().method() !== method) return await route.fallback()
      isLost = true
      resolve(await (await route.fetch()).json())
      await route.abort()
    }
    void page.route(address, lose)
  })
}

async function launch(): Promise<Browser> {
  return await chromium.launch({
    executablePath: CHROMIUM,
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
    ],
  })
}

/** Puts a session where the console keeps it, as signing in would. */
async function signInBeforehand(
  context: BrowserContext,
  { client }: House,
  as: { email: string; password: string },
): Promise<void> {
  interface Login {
    user: { jwt: string; email: string; profile: string; forcePasswordChange?: boolean }
  }
  const { body } = await client.call<Login>('POST', '/north/v80/provision/users/login', as)
  const { jwt, email, profile } = body.user
  const claims = JSON.parse(Buffer.from(jwt.split('.')[1] ?? '', 'base64url').toString()) as {
    org: string
    exp: number
  }
  const session = {
    token: jwt,
    email,
    name: email,
    organization: claims.org,
    profile,
    expiresAt: claims.exp * 1000,
    mustChangePassword: body.user.forcePasswordChange === true,
  }
  await context.addInitScript(kept => localStorage.setItem('drover.session', kept), JSON.stringify(session))
}

const axeSource = readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

/** What axe finds against WCAG 2.2 AA on a page once it has come to rest, in words; nothing is good. */
export async function accessibilityFaults(page: Page): Promise<string[]> {
  await atRest(page)
  await page.evaluate(await axeSource)
  const violations = await page.evaluate(async () => {
    const { axe } = globalThis as unknown as { axe: { run(options: object): Promise<{ violations: Violation[] }> } }
    interface Violation {
      readonly id: string
      readonly help: string
      readonly nodes: readonly { readonly target: readonly string[]; readonly failureSummary?: string }[]
    }
    const tags = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa']
    return (await axe.run({ runOnly: { type: 'tag', values: tags } })).violations
  })
  return violations.flatMap(({ id, help, nodes }) =>
    nodes.slice(0, 5).map(node => `${id} (${help}): ${node.target.join(' ')} ${node.failureSummary ?? ''}`),
  )
}

/** Waits until no colour, place or size of the page is on its way to another; what moves for ever does not count. */
function atRest(page: Page): Promise<void> {
  return page.evaluate(async () => {
    const moving = () => document.getAnimations().filter(each => each.effect?.getComputedTiming().endTime !== Infinity)
    for (let now = moving(); now.length > 0; now = moving()) await Promise.allSettled(now.map(each => each.finished))
  })
}
