/** Keeps what cannot be shown to its own place, so that it never takes the rest of the page with it. */
import { Component, type ReactNode } from 'react'

interface Props {
  readonly children: ReactNode
  /** what is shown in its place */
  readonly otherwise: (error: unknown) => ReactNode
  /** another value gives the children another try */
  readonly of?: unknown
}

interface State {
  readonly of?: unknown
  readonly thrown?: { readonly error: unknown } | undefined
}

/** Shows its children, and something else once they throw. React takes only a class for this. */
export class Bounded extends Component<Props, State> {
  override state: State = {}

  static getDerivedStateFromError(error: unknown): State {
    return { thrown: { error } }
  }

  static getDerivedStateFromProps({ of }: Props, state: State): State | null {
    return Object.is(of, state.of) ? null : { of, thrown: undefined }
  }

  override render() {
    const { thrown } = this.state
    return thrown ? this.props.otherwise(thrown.error) : this.props.children
  }
}
