/** Which view stands at which address, and who may see any: one line per view, each loaded when it is first shown. */
import { lazy, type ReactNode, Suspense } from 'react'
import { Route, Router, Switch, useLocation } from 'wouter'
import type { Permission } from '../contract/words.ts'
import { Bounded } from './parts/bounded.tsx'
import { Page } from './parts/page.tsx'
import { Empty, Failed, Loading } from './parts/states.tsx'
import { persistent } from './persistent.ts'
import { useMay, useSession } from './session.ts'
import { Shell } from './shell.tsx'
import { SignIn } from './views/sign-in.tsx'

const OverviewView = lazy(persistent(() => import('./views/overview.tsx')))
const TasksView = lazy(persistent(() => import('./views/tasks/tasks.tsx')))
const TaskView = lazy(persistent(() => import('./views/tasks/task.tsx')))
const TypesView = lazy(persistent(() => import('./views/types/types.tsx')))
const TypeView = lazy(persistent(() => import('./views/types/type.tsx')))
const DevicesView = lazy(persistent(() => import('./views/devices/devices.tsx')))
const DeviceView = lazy(persistent(() => import('./views/devices/device.tsx')))
const DeliveriesView = lazy(persistent(() => import('./views/deliveries.tsx')))
const AuditView = lazy(persistent(() => import('./views/audit.tsx')))
const UsersView = lazy(persistent(() => import('./views/users.tsx')))
const AccountView = lazy(persistent(() => import('./views/account.tsx')))
const JobsView = lazy(persistent(() => import('./views/jobs.tsx')))
const LaunchView = lazy(persistent(() => import('./views/launch/launch.tsx')))
const JobView = lazy(persistent(() => import('./views/job/job.tsx')))

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
  if (session.mustChangePassword && !location.pathname.endsWith('/account'))
    history.replaceState(null, '', '/console/account')
  return (
    <Router base="/console">
      <Shell session={session}>
        <View>
          <Switch>
            <Route path="/" component={OverviewView} />
            <Route path="/launch/:step?">
              <Allowed needs="execute">
                <LaunchView />
              </Allowed>
            </Route>
            <Route path="/jobs" component={JobsView} />
            <Route path="/jobs/:id" component={JobView} />
            <Route path="/jobs/:id/operations/:operation" component={JobView} />
            <Route path="/tasks" component={TasksView} />
            <Route path="/tasks/new/:step?">
              <Allowed needs="execute">
                <LaunchView isTask />
              </Allowed>
            </Route>
            <Route path="/tasks/:id" component={TaskView} />
            <Route path="/types" component={TypesView} />
            <Route path="/types/:name" component={TypeView} />
            <Route path="/devices" component={DevicesView} />
            <Route path="/devices/:id" component={DeviceView} />
            <Route path="/deliveries" component={DeliveriesView} />
            <Route path="/audit">
              <Allowed needs="manageUsers">
                <AuditView />
              </Allowed>
            </Route>
            <Route path="/users">
              <Allowed needs="manageUsers">
                <UsersView />
              </Allowed>
            </Route>
            <Route path="/account" component={AccountView} />
            <Route>
              <Page title="No such view">
                <Empty>Nothing stands at this address.</Empty>
              </Page>
            </Route>
          </Switch>
        </View>
      </Shell>
    </Router>
  )
}
