import { beforeEach, describe, expect, test, vi } from 'vitest'
import { type Draft, EMPTY } from '../../src/console/views/launch/draft.ts'

/** What the browser keeps, here in memory. */
function memory() {
  const kept = new Map<string, string>()
  return {
    kept,
    getItem: (key: string) => kept.get(key) ?? null,
    setItem: (key: string, value: string) => void kept.set(key, value),
    removeItem: (key: string) => void kept.delete(key),
  }
}

const draft: Draft = { ...EMPTY, name: 'REFRESH_INFO', list: ['pump-1'] }

describe('what is about to be launched', () => {
  const session = memory()
  const local = memory()

  /** The module as it is after the page was loaded anew, with this person signed in. */
  async function loadedAs(email: string) {
    local.setItem(
      'drover.session',
      JSON.stringify({ token: 't', email, organization: 'drover', profile: 'root', expiresAt: Date.now() + 3_600_000 }),
    )
    vi.resetModules()
    return await import('../../src/console/views/launch/kept-draft.ts')
  }

  beforeEach(() => {
    session.kept.clear()
    vi.stubGlobal('sessionStorage', session)
    vi.stubGlobal('localStorage', local)
    vi.stubGlobal('addEventListener', () => {})
  })

  test('is kept for whoever began it, and for nobody else', async () => {
    expect((await loadedAs('anna')).keepDraft(false, '', draft)).toBe(true)
    expect((await loadedAs('anna')).keptDraft(false, '')).toEqual(draft)
    expect((await loadedAs('berta')).keptDraft(false, '')).toBeNull()
  })

  test('is begun anew where the address names something else', async () => {
    const { keepDraft, keptDraft } = await loadedAs('anna')
    keepDraft(false, 'type=REFRESH_INFO', draft)
    expect(keptDraft(false, 'type=REFRESH_INFO')).toEqual(draft)
    expect(keptDraft(false, '')).toEqual(draft)
    expect(keptDraft(false, 'type=UPDATE')).toBeNull()
    expect(keptDraft(true, '')).toBeNull()
  })

  test('is not kept beyond what a browser holds, nor an older one in its place', async () => {
    const { keepDraft, keptDraft, KEPT_MAX } = await loadedAs('anna')
    keepDraft(false, '', draft)
    expect(keepDraft(false, '', { ...draft, userNotes: 'x'.repeat(KEPT_MAX) })).toBe(false)
    expect(keptDraft(false, '')).toBeNull()
    expect(session.kept.size).toBe(0)
  })

  test.each(['', '{', 'null', '{"who":"drover anna","from":"","draft":{"name":7}}'])(
    'is begun anew where what was kept is no draft: %s',
    async text => {
      const { keptDraft } = await loadedAs('anna')
      session.setItem('drover.draft.job', text)
      expect(keptDraft(false, '')).toBeNull()
    },
  )
})
