/**
 * Who is signed in, kept by the browser until the token runs out, the same in every tab. It asks nobody: what a profile may do comes
 * from the contract, and the service is the judge of it anyway.
 */
import { useSyncExternalStore } from 'react'
import { may, type Permission, PROFILES, type Profile } from '../contract/words.ts'

export interface Session {
  readonly token: string
  readonly email: string
  readonly name: string
  readonly organization: string
  readonly profile: Profile
  /** epoch milliseconds */
  readonly expiresAt: number
  /** nothing is allowed before the password was changed */
  readonly mustChangePassword: boolean
}

const PLACE = 'drover.session'
const listeners = new Set<() => void>()
let current = read()
let timer: ReturnType<typeof setTimeout> | undefined

function isSession(value: unknown): value is Session {
  const { token, email, expiresAt, profile } = (value ?? {}) as Partial<Session>
  return (
    typeof token === 'string' &&
    typeof email === 'string' &&
    typeof expiresAt === 'number' &&
    PROFILES.some(each => each === profile)
  )
}

function read(): Session | null {
  try {
    const kept: unknown = JSON.parse(localStorage.getItem(PLACE) ?? 'null')
    return isSession(kept) && kept.expiresAt > Date.now() ? kept : null
  } catch {
    return null
  }
}

function become(session: Session | null): void {
  current = session
  clearTimeout(timer)
  if (session) timer = setTimeout(() => signOut(), Math.min(session.expiresAt - Date.now(), 2 ** 31 - 1))
  for (const each of listeners) each()
}

addEventListener('storage', event => {
  if (event.key === PLACE || event.key === null) become(read())
})

/** What the token says of its bearer; the service has signed it, nobody here has to check. */
function claimsOf(token: string): { org?: string; exp?: number } {
  const [, payload = ''] = token.split('.')
  const bytes = Uint8Array.from(atob(payload.replaceAll('-', '+').replaceAll('_', '/')), each => each.charCodeAt(0))
  return JSON.parse(new TextDecoder().decode(bytes)) as { org?: string; exp?: number }
}

/** The user of a login's answer becomes who is signed in. */
export function signIn(user: {
  readonly jwt?: string | undefined
  readonly email: string
  readonly profile: Profile
  readonly name?: string | null | undefined
  readonly surname?: string | null | undefined
  readonly domain?: string | null | undefined
  readonly forcePasswordChange?: boolean | undefined
}): void {
  const { jwt: token = '', email, profile } = user
  const { org, exp } = claimsOf(token)
  const session: Session = {
    token,
    email,
    profile,
    name: [user.name, user.surname].filter(Boolean).join(' ') || email,
    organization: org ?? user.domain ?? '',
    expiresAt: (exp ?? 0) * 1000,
    mustChangePassword: user.forcePasswordChange === true,
  }
  localStorage.setItem(PLACE, JSON.stringify(session))
  become(session)
}

/** Forgets who is signed in, in every tab. */
export function signOut(): void {
  localStorage.removeItem(PLACE)
  become(null)
}

/** The session as it is now; null when nobody is signed in. */
export const presentSession = (): Session | null => current

/** The session, followed. */
export function useSession(): Session | null {
  return useSyncExternalStore(listener => {
    listeners.add(listener)
    return () => listeners.delete(listener)
  }, presentSession)
}

/** Whether the profile signed in may do a thing: what it may not is not offered. */
export function useMay(permission: Permission): boolean {
  const session = useSession()
  return session !== null && !session.mustChangePassword && may(session.profile, permission)
}
