/** The frame of a view: its name, what it tells of itself, what can be done. It sets the title of the document. */
import { type ReactNode, useEffect } from 'react'

export function Page({
  title,
  above,
  facts,
  actions,
  children,
  fills = false,
}: {
  readonly title: string
  /** where it belongs, for instance a link back */
  readonly above?: ReactNode
  readonly facts?: ReactNode
  readonly actions?: ReactNode
  readonly children: ReactNode
  /** takes the height of the window, for a table that scrolls in itself */
  readonly fills?: boolean
}) {
  useEffect(() => {
    document.title = `${title} · Drover`
  }, [title])
  return (
    <main className={fills ? 'page page-fills' : 'page'} id="main">
      <header className="page-head">
        <div className="page-title">
          {above && <div className="page-above">{above}</div>}
          <h1>{title}</h1>
          {facts && <div className="page-facts">{facts}</div>}
        </div>
        {actions && <div className="page-actions">{actions}</div>}
      </header>
      {children}
    </main>
  )
}

/** A part of a view with its own heading. */
export function Panel({
  title,
  facts,
  actions,
  children,
  className = '',
}: {
  readonly title: string
  readonly facts?: ReactNode
  readonly actions?: ReactNode
  readonly children: ReactNode
  readonly className?: string
}) {
  return (
    <section className={`panel ${className}`} aria-label={title}>
      <header className="panel-head">
        <h2>{title}</h2>
        {facts && <div className="panel-facts">{facts}</div>}
        {actions && <div className="panel-actions">{actions}</div>}
      </header>
      {children}
    </section>
  )
}
