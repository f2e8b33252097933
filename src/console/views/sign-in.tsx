/** Signing in with email and password; and the change of a password that must be changed first. */
import './sign-in.css'
import { Button, PasswordInput, TextInput } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { type FormEvent, useEffect, useState } from 'react'
import markUrl from '../mark.svg'
import { Failed } from '../parts/states.tsx'
import { ask, asking, Refused } from '../request.ts'
import { signIn } from '../session.ts'

export function SignIn() {
  const [email, setEmail] = useState('')
  const [password, setPassword] = useState('')
  useEffect(() => {
    document.title = 'Sign in · Drover'
  }, [])
  const login = useMutation({
    mutationFn: () => ask(asking('POST /provision/users/login', { body: { email, password } })),
    onSuccess: ({ user }) => signIn(user),
  })
  const submit = (event: FormEvent) => {
    event.preventDefault()
    login.mutate()
  }
  return (
    <main className="sign-in" id="main">
      <form className="sign-in-card" onSubmit={submit}>
        <div className="row">
          <img src={markUrl} alt="" width={28} height={28} />
          <h1>Sign in to Drover</h1>
        </div>
        <TextInput
          label="Email"
          type="email"
          name="email"
          autoComplete="username"
          required
          autoFocus
          value={email}
          onChange={event => setEmail(event.currentTarget.value)}
        />
        <PasswordInput
          label="Password"
          name="password"
          autoComplete="current-password"
          required
          value={password}
          onChange={event => setPassword(event.currentTarget.value)}
        />
        {login.isError && <NotSignedIn error={login.error} />}
        <Button type="submit" loading={login.isPending} fullWidth>
          Sign in
        </Button>
      </form>
    </main>
  )
}

/** The service does not tell which of the two was wrong, and neither does this. */
function NotSignedIn({ error }: { readonly error: unknown }) {
  const isUnknown = error instanceof Refused && error.status === 401
  return <Failed error={isUnknown ? new Error('Wrong e-mail or password.') : error} />
}
