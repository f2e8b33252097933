/** One line of a list of facts: its name, and what it is. */
import type { ReactNode } from 'react'

export function Fact({ name, children }: { readonly name: string; readonly children: ReactNode }) {
  return (
    <>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </>
  )
}
