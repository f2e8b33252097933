/** Which view stands at which address, and who may see any: one line per view, each loaded when it is first shown. */
import { lazy, type ReactNode, Suspense } from 'react'
import { Redirect, Route, Router, Switch } from 'wouter'
import type { Permission } from '../contract/words.ts'
import { Page } from './parts/page.tsx'
import { Empty, Loading } from './parts/states.tsx'
import { useMay, useSession } from './session.ts'
import { Shell } from './shell.tsx'
import { SignIn } from './views/sign-in.tsx'

const JobsView = lazy(() => import('./views/jobs.tsx'))
const LaunchView = lazy(() => import('./views/launch/launch.tsx'))
const JobView = lazy(() => import('./views/job/job.tsx'))

/** A view that some profiles may not use: its address then tells so. */
function Allowed({ needs, children }: { readonly needs: Permission; readonly children: ReactNode }) {
  if (useMay(needs)) return children
  return (
    <Page title="Not for this profile">
      <Empty>The profile you are signed in with may not do this.</Empty>
    </Page>
  )
}

export function App() {
  const session = useSession()
  if (!session) return <SignIn />
  return (
    <Router base="/console">
      <Shell session={session}>
        <Suspense fallback={<Loading what="the view" />}>
          <Switch>
            <Route path="/">
              <Redirect to="/jobs" replace />
            </Route>
            <Route path="/launch/:step?">
              <Allowed needs="execute">
                <LaunchView />
              </Allowed>
            </Route>
            <Route path="/jobs" component={JobsView} />
            <Route path="/jobs/:id" component={JobView} />
            <Route path="/jobs/:id/operations/:operation" component={JobView} />
            <Route>
              <Page title="No such view">
                <Empty>Nothing stands at this address.</Empty>
              </Page>
            </Route>
          </Switch>
        </Suspense>
      </Shell>
    </Router>
  )
}
