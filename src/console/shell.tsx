/** The frame around every view: where one can go, who one is, and the scheme of colours. What a profile may not see is not listed. */
import { ActionIcon, useComputedColorScheme, useMantineColorScheme } from '@mantine/core'
import { useQueryClient } from '@tanstack/react-query'
import { type ReactNode, useState } from 'react'
import { Link, useLocation } from 'wouter'
import type { Permission } from '../contract/words.ts'
import { viewerZone } from './figures.tsx'
import markUrl from './mark.svg'
import { Icon, type IconName } from './parts/icons.tsx'
import { type Session, signOut, useMay } from './session.ts'
import { useStream } from './stream.ts'

interface Place {
  readonly path: string
  readonly name: string
  readonly icon: IconName
  readonly needs?: Permission
}

const PLACES: readonly Place[] = [
  { path: '/', name: 'Overview', icon: 'overview' },
  { path: '/jobs', name: 'Jobs', icon: 'jobs' },
  { path: '/launch', name: 'Launch', icon: 'launch', needs: 'execute' },
  { path: '/tasks', name: 'Tasks', icon: 'tasks' },
  { path: '/types', name: 'Operation types', icon: 'types' },
  { path: '/devices', name: 'Devices', icon: 'devices' },
  { path: '/deliveries', name: 'Deliveries', icon: 'deliveries' },
  { path: '/audit', name: 'Audit', icon: 'audit', needs: 'manageUsers' },
  { path: '/users', name: 'Users', icon: 'users', needs: 'manageUsers' },
]

export function Shell({ session, children }: { readonly session: Session; readonly children: ReactNode }) {
  useStream(useQueryClient(), session.token)
  const [location] = useLocation()
  // Whatever is gone to closes the menu.
  const [openAt, setOpenAt] = useState<string | null>(null)
  const open = openAt === location
  return (
    <div className="shell">
      <a className="skip" href="#main">
        Skip to content
      </a>
      <div className="top">
        <ActionIcon
          variant="subtle"
          color="gray"
          aria-label={open ? 'Close the menu' : 'Open the menu'}
          aria-expanded={open}
          aria-controls="menu"
          onClick={() => setOpenAt(open ? null : location)}
        >
          <Icon name={open ? 'close' : 'menu'} size={20} />
        </ActionIcon>
        <Brand />
      </div>
      <nav className={open ? 'side side-open' : 'side'} id="menu" aria-label="Views">
        <Brand />
        {PLACES.map(place => (
          <PlaceLink key={place.path} place={place} />
        ))}
        <div className="side-foot">
          <div className="side-who">
            <Link href="/account" className="cut strong who-link" title={`${session.email}: your account`}>
              {session.name}
            </Link>
            <div className="cut quiet small" title={`Organization ${session.organization}, profile ${session.profile}`}>
              {session.organization} · {session.profile}
            </div>
            <div className="cut quiet small" title="Times are in this zone; hover one for UTC">
              {viewerZone}
            </div>
          </div>
          <div className="row">
            <SchemeButton />
            <ActionIcon variant="subtle" color="gray" aria-label="Sign out" title="Sign out" onClick={signOut}>
              <Icon name="out" />
            </ActionIcon>
          </div>
        </div>
      </nav>
      <div className="content">
        <div className="content-scroll">{children}</div>
      </div>
    </div>
  )
}

function Brand() {
  return (
    <Link href="/" className="brand">
      <img src={markUrl} alt="" width={24} height={24} />
      Drover
    </Link>
  )
}

function PlaceLink({ place: { path, name, icon, needs } }: { readonly place: Place }) {
  const [location] = useLocation()
  const allowed = useMay(needs ?? 'execute')
  if (needs && !allowed) return null
  const here = path === '/' ? location === '/' : location === path || location.startsWith(`${path}/`)
  return (
    <Link href={path} className="side-link" aria-current={here ? 'page' : undefined}>
      <Icon name={icon} />
      {name}
    </Link>
  )
}

function SchemeButton() {
  const { setColorScheme } = useMantineColorScheme({ keepTransitions: true })
  const scheme = useComputedColorScheme('light')
  const other = scheme === 'dark' ? 'light' : 'dark'
  return (
    <ActionIcon
      variant="subtle"
      color="gray"
      aria-label={`Change to ${other} colours`}
      title={`Change to ${other} colours`}
      onClick={() => setColorScheme(other)}
    >
      <Icon name={scheme === 'dark' ? 'sun' : 'moon'} />
    </ActionIcon>
  )
}
