/** A place that scrolls in itself, and is therefore reached by the keyboard. */
import type { CSSProperties, ReactNode, Ref } from 'react'

export function Scroller({
  label,
  className,
  ref,
  style = {},
  children,
}: {
  readonly label: string
  readonly className: string
  readonly ref?: Ref<HTMLElement>
  readonly style?: CSSProperties
  readonly children: ReactNode
}) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: the one place of this rule's exception: what scrolls must be reached by keyboard
    <section className={className} ref={ref ?? null} style={style} tabIndex={0} aria-label={label}>
      {children}
    </section>
  )
}
