/** Something to know before going on: not an error. */
import type { ReactNode } from 'react'
import { Icon } from './icons.tsx'

export function Notice({ children, calm = false }: { readonly children: ReactNode; readonly calm?: boolean }) {
  return (
    <div className={calm ? 'notice notice-calm' : 'notice'}>
      {!calm && <Icon name="warning" size={18} />}
      <div>{children}</div>
    </div>
  )
}
