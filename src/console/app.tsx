/** Which view stands at which address, and who may see any: one line per view, each loaded when it is first shown. */
import { type ComponentType, lazy, type ReactNode, Suspense } from 'react'
import { Route, Router, Switch, useLocation } from 'wouter'
import type { Permission } from '../contract/words.ts'
import { Bounded } from './parts/bounded.tsx'
import { Page } from './parts/page.tsx'
import { Empty, Failed, Loading } from './parts/states.tsx'
import { persistent } from './persistent.ts'
import { useMay, useSession } from './session.ts'
import { Shell } from './shell.tsx'
import { SignIn } from './views/sign-in.tsx'

const JobView = lazy(persistent(() => import('./views/job/job.tsx')))
const AccountView = lazy(persistent(() => import('./views/account.tsx')))
const LaunchView = lazy(persistent(() => import('./views/launch/launch.tsx')))

interface Place {
  readonly path: string
  readonly view: ComponentType
  readonly needs?: Permission
  /** the same for addresses between which the view stays as it is */
  readonly key?: string
}

const VIEWS: readonly Place[] = [
  { path: '/', view: lazy(persistent(() => import('./views/overview/overview.tsx'))) },
  { path: '/launch/:step?', view: LaunchView, needs: 'execute' },
  { path: '/jobs', view: lazy(persistent(() => import('./views/jobs.tsx'))) },
  { path: '/jobs/:id', view: JobView, key: 'job' },
  { path: '/jobs/:id/operations/:operation', view: JobView, key: 'job' },
  { path: '/tasks', view: lazy(persistent(() => import('./views/tasks/tasks.tsx'))) },
  { path: '/tasks/new/:step?', view: () => <LaunchView isTask />, needs: 'execute' },
  { path: '/tasks/:id', view: lazy(persistent(() => import('./views/tasks/task.tsx'))) },
  { path: '/types', view: lazy(persistent(() => import('./views/types/types.tsx'))) },
  { path: '/types/:name', view: lazy(persistent(() => import('./views/types/type.tsx'))) },
  { path: '/devices', view: lazy(persistent(() => import('./views/devices/devices.tsx'))) },
  { path: '/devices/:id', view: lazy(persistent(() => import('./views/devices/device.tsx'))) },
  { path: '/deliveries', view: lazy(persistent(() => import('./views/deliveries.tsx'))) },
  { path: '/audit', view: lazy(persistent(() => import('./views/audit.tsx'))), needs: 'manageUsers' },
  { path: '/users', view: lazy(persistent(() => import('./views/users.tsx'))), needs: 'manageUsers' },
  { path: '/account', view: AccountView },
]

/** A view that some profiles may not use: its address then tells so. */
function Allowed({ needs, children }: { readonly needs: Permission; readonly children: ReactNode }) {
  if (useMay(needs)) return children
  return (
    <Page title="Not for this profile">
      <Empty>The profile you are signed in with may not do this.</Empty>
    </Page>
  )
}

/** The view of the present address: a fault of one ends with it. */
function View({ children }: { readonly children: ReactNode }) {
  const [location] = useLocation()
  return (
    <Bounded of={location} otherwise={error => <Broken error={error} />}>
      <Suspense fallback={<Loading what="the view" />}>{children}</Suspense>
    </Bounded>
  )
}

function Broken({ error }: { readonly error: unknown }) {
  return (
    <Page title="This view cannot be shown">
      <Failed error={error} retry={() => window.location.reload()} />
    </Page>
  )
}

export function App() {
  const session = useSession()
  if (!session) return <SignIn />
  return (
    <Router base="/console">
      <Shell session={session}>
        <Switch>
          {session.mustChangePassword && (
            // Until it was changed nothing else is shown; the address stays, and leads on afterwards.
            <Route>
              <View>
                <AccountView />
              </View>
            </Route>
          )}
          {VIEWS.map(({ path, view: Shown, needs, key = path }) => (
            // Each waits for its own code: were it one place for all, the view that was left would stay, and go on, until the next has come.
            <Route key={key} path={path}>
              <View>
                {needs ? (
                  <Allowed needs={needs}>
                    <Shown />
                  </Allowed>
                ) : (
                  <Shown />
                )}
              </View>
            </Route>
          ))}
          <Route>
            <Page title="No such view">
              <Empty>Nothing stands at this address.</Empty>
            </Page>
          </Route>
        </Switch>
      </Shell>
    </Router>
  )
}
