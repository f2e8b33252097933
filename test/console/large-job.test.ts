import { beforeAll, describe, expect, test } from 'vitest'
import { sql } from '../../src/store/statement.ts'
import { createJob, readJob } from '../service/jobs.ts'
import { type Console, hasBrowser, openConsole } from './browser.ts'

const DEVICES = 100_000
/** Rows of the table that may be in the document at a time. */
const ROWS_MAX = 120
/** A frame longer than this hangs, also on a machine that does other work besides. */
const FRAME_MS_MAX = 1_000

describe.skipIf(!hasBrowser)('a job of 100,000 operations', () => {
  let at: Console
  let job = ''

  beforeAll(async () => {
    at = await openConsole({ DROVER_ROLES: 'north,engine' })
    const { house } = at
    // Provisioned as the bulk interface would store them, in one statement: what is measured here is the console.
    await house.provision('meter-0', { 'provision.administration.tags': ['many'] })
    await house.database.query(sql`
      insert into entity (partition, entity, organization, identifier, resource_type, document, tags, flow, created_at, updated_at)
      select (n % 256)::smallint, e.entity + n, e.organization, 'meter-' || n, e.resource_type,
             e.document || jsonb_build_object('provision.device.identifier', 'meter-' || n), e.tags, 'pull', e.created_at, e.updated_at
        from entity e cross join generate_series(1, ${DEVICES - 1}::int) n where e.identifier = 'meter-0'`)
    const made = await createJob(house.client, {
      name: 'REFRESH_INFO',
      target: { append: { tags: ['many'] } },
      schedule: { stop: { delayed: 3_600_000 }, scattering: { maxSpread: 50 } },
    })
    job = made.id
    while ((await readJob(house.client, job)).report.summary.total < DEVICES) {
      await new Promise(resolve => setTimeout(resolve, 250))
    }
  })

  test('its table scrolls smoothly to the very end, with few rows in the document, while the job goes on', async () => {
    const page = await at.visit(`/jobs/${job}`)
    const table = page.getByRole('region', { name: 'Operations of the job' })
    await table.locator('tbody a').first().waitFor()
    await table.scrollIntoViewIfNeeded()
    const seen = await table.evaluate(async (place, frames) => {
      const worst = { frameMs: 0, rows: 0 }
      const taken: number[] = []
      let before = performance.now()
      for (let frame = 0; frame < frames; frame++) {
        await new Promise(resolve => requestAnimationFrame(resolve))
        const now = performance.now()
        taken.push(now - before)
        before = now
        worst.rows = Math.max(worst.rows, place.querySelectorAll('tbody tr').length)
        // A wheel turned fast, then the scroll bar dragged to the end.
        place.scrollTop += frame < frames / 2 ? 240 : place.scrollHeight / frames
      }
      place.scrollTop = place.scrollHeight
      const sorted = taken.slice(5).sort((a, b) => a - b)
      worst.frameMs = sorted[Math.floor(sorted.length * 0.98)] ?? 0
      return worst
    }, 240)
    expect(seen.rows).toBeLessThan(ROWS_MAX)
    expect(seen.frameMs).toBeLessThan(FRAME_MS_MAX)
    await table.locator(`tr[aria-rowindex="${DEVICES + 1}"] a`).waitFor()
    expect(await table.locator('tbody tr').count()).toBeLessThan(ROWS_MAX)
  })
})
