/** One's own account: who one is here, and the change of one's own password. */
import { Button, PasswordInput } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import { Curl } from '../parts/curl.tsx'
import { Notice } from '../parts/notice.tsx'
import { Page, Panel } from '../parts/page.tsx'
import { Failed } from '../parts/states.tsx'
import { ask, asking, Refused } from '../request.ts'
import { signOut, useSession } from '../session.ts'

export default function Account() {
  const session = useSession()
  const [present, setPresent] = useState('')
  const [next, setNext] = useState('')
  const asked = asking('PUT /provision/users/{email}', {
    path: { email: session?.email ?? '' },
    header: { 'x-apipass': present },
    body: { user: { password: next } },
  })
  const changing = useMutation({ mutationFn: () => ask(asked), onSuccess: signOut })
  const submit = (event: FormEvent) => {
    event.preventDefault()
    changing.mutate()
  }
  return (
    <Page title="Your account">
      {session?.mustChangePassword && <Notice>The password must be changed before anything else can be done.</Notice>}
      <div className="columns">
        <div className="span-5">
          <Panel title="Who you are">
            <dl className="facts">
              <dt>Email</dt>
              <dd>{session?.email}</dd>
              <dt>Organization</dt>
              <dd>{session?.organization}</dd>
              <dt>Profile</dt>
              <dd>{session?.profile}</dd>
            </dl>
          </Panel>
        </div>
        <div className="span-7">
          <Panel title="Change your password">
            <form className="stack form" onSubmit={submit}>
              <PasswordInput
                label="Present password"
                autoComplete="current-password"
                required
                value={present}
                onChange={event => setPresent(event.currentTarget.value)}
              />
              <PasswordInput
                label="New password"
                autoComplete="new-password"
                required
                value={next}
                onChange={event => setNext(event.currentTarget.value)}
              />
              <p className="quiet">You then sign in anew, here and everywhere else.</p>
              {changing.isError &&
                (changing.error instanceof Refused && changing.error.status === 401 ? (
                  <Notice>The present password is not right.</Notice>
                ) : (
                  <Failed error={changing.error} />
                ))}
              <details className="more">
                <summary>The same with curl</summary>
                <Curl ask={asked} />
              </details>
              <div>
                <Button type="submit" loading={changing.isPending}>
                  Change it
                </Button>
              </div>
            </form>
          </Panel>
        </div>
      </div>
    </Page>
  )
}
