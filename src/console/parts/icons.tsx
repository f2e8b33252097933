/** The few pictures of the console, drawn here: nothing is fetched for them. Each stands beside a word or has a label of its own. */
import type { ReactNode } from 'react'

const DRAWN = {
  overview: 'M3 13h4l2-7 4 12 2-5h6',
  jobs: 'M4 6h10M4 12h16M4 18h7',
  launch: 'M5 19 19 5M11 5h8v8',
  tasks: 'M4 7h16v13H4zM4 11h16M8 4v4M16 4v4',
  types: 'M5 5h6v6H5zM13 5h6v6h-6zM5 13h6v6H5zM16 13v6M13 16h6',
  devices: 'M7 3h10v18H7zM11 18h2',
  deliveries: 'M3 6h18v12H3zM3 7l9 7 9-7',
  audit: 'M6 3h9l4 4v14H6zM9 11h7M9 15h7',
  users: 'M12 12a4 4 0 1 0 0-8 4 4 0 0 0 0 8zM4 21c0-4 4-6 8-6s8 2 8 6',
  pause: 'M8 5v14M16 5v14',
  play: 'M7 5l12 7-12 7z',
  stop: 'M6 6h12v12H6z',
  again: 'M20 11a8 8 0 1 0-2 6M20 5v6h-6',
  down: 'M12 4v12M6 11l6 6 6-6M5 20h14',
  code: 'M8 7l-5 5 5 5M16 7l5 5-5 5',
  sun: 'M12 16a4 4 0 1 0 0-8 4 4 0 0 0 0 8zM12 2v3M12 19v3M2 12h3M19 12h3M5 5l2 2M17 17l2 2M5 19l2-2M17 7l2-2',
  moon: 'M20 14A8 8 0 1 1 10 4a6.5 6.5 0 0 0 10 10z',
  menu: 'M4 7h16M4 12h16M4 17h16',
  close: 'M6 6l12 12M18 6 6 18',
  plus: 'M12 5v14M5 12h14',
  back: 'M15 5l-7 7 7 7',
  next: 'M9 5l7 7-7 7',
  search: 'M11 18a7 7 0 1 0 0-14 7 7 0 0 0 0 14zM16 16l5 5',
  out: 'M14 4H5v16h9M10 12h11M17 8l4 4-4 4',
  key: 'M8 16a4 4 0 1 0 0-8 4 4 0 0 0 0 8zM12 12h9M18 12v4',
  warning: 'M12 4 2.5 20h19zM12 10v4M12 17v.5',
  copy: 'M9 9h11v11H9zM5 15V4h11',
  done: 'M5 13l4 4L19 7',
} as const

export type IconName = keyof typeof DRAWN

export function Icon({ name, size = 16 }: { readonly name: IconName; readonly size?: number }): ReactNode {
  return (
    <svg className="icon" viewBox="0 0 24 24" width={size} height={size} aria-hidden="true" focusable="false">
      <path d={DRAWN[name]} />
    </svg>
  )
}
