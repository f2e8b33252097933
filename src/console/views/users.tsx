/** The users of the organization: made, changed, removed, as far as one's own profile goes. */
import { Button, Modal, PasswordInput, Select, Switch, TextInput } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { type FormEvent, useMemo, useState } from 'react'
import type { UserAnswer } from '../../contract/client/client.ts'
import { PROFILES, type Profile } from '../../contract/words.ts'
import { Action } from '../parts/action.tsx'
import { useAddressed } from '../parts/address.ts'
import { AsOf } from '../parts/as-of.tsx'
import { TakeAway } from '../parts/csv.tsx'
import { DialogEnd } from '../parts/dialog-end.tsx'
import { Find } from '../parts/find.tsx'
import { Icon } from '../parts/icons.tsx'
import { Page } from '../parts/page.tsx'
import { anywhere, searchRows } from '../parts/search-rows.ts'
import { Empty } from '../parts/states.tsx'
import { type Column, VirtualTable } from '../parts/virtual-table.tsx'
import { ask, asking } from '../request.ts'
import { useSession } from '../session.ts'

type User = UserAnswer['user']

const columns = (self: string, edit: (user: User) => void): readonly Column<User>[] => [
  {
    key: 'email',
    title: 'Email',
    width: '28%',
    fills: true,
    cell: each => (
      <button type="button" className="link" onClick={() => edit(each)}>
        {each.email}
      </button>
    ),
    under: each => each.profile,
  },
  {
    key: 'name',
    title: 'Name',
    width: '22%',
    wide: true,
    cell: each => [each.name, each.surname].filter(Boolean).join(' ') || '–',
  },
  { key: 'profile', title: 'Profile', width: '180px', wide: true, cell: each => each.profile },
  { key: 'domain', title: 'Organization', wide: true, cell: each => each.domain ?? '' },
  {
    key: 'remove',
    title: 'Remove',
    width: '124px',
    cell: each =>
      each.email === self ? (
        <span className="quiet">you</span>
      ) : (
        <Action
          name="Remove"
          danger
          ask={asking('DELETE /provision/users/{email}', { path: { email: each.email } })}
          touches={null}
        >
          <p>{each.email} can no longer sign in. Jobs and tasks of this user stay.</p>
        </Action>
      ),
  },
]

export default function Users() {
  const session = useSession()
  const [words, setWords] = useAddressed('words')
  const [told, setTold] = useState({ dataUpdatedAt: 0, isError: false, total: 0 })
  const [edited, setEdited] = useState<User | 'new' | null>(null)
  const self = session?.email ?? ''
  const table = useMemo(() => columns(self, setEdited), [self])
  const fields = ['users.email', 'users.name', 'users.surname']
  const filter = words === '' ? {} : { or: fields.map(field => ({ like: { [field]: anywhere(words) } })) }
  const rows = searchRows<User>(
    'users',
    { filter },
    body => asking('POST /search/users', { query: { caseSensitive: false }, body }),
    'users',
  )
  return (
    <Page
      title="Users"
      fills
      facts={<AsOf of={told} live={false} />}
      actions={
        <>
          <TakeAway ask={rows.whole} name="users" />
          <Button size="xs" leftSection={<Icon name="plus" size={14} />} onClick={() => setEdited('new')}>
            New user
          </Button>
        </>
      }
    >
      <div className="filters">
        <Find what="Email or name" value={words} onFind={setWords} />
      </div>
      <VirtualTable
        label="Users"
        columns={table}
        rows={rows}
        rowKey={each => each.email}
        onState={setTold}
        empty={<Empty>No user fits this filter.</Empty>}
      />
      <Modal
        opened={edited !== null}
        onClose={() => setEdited(null)}
        title={edited === 'new' ? 'New user' : 'Change the user'}
        closeButtonProps={{ 'aria-label': 'Close' }}
      >
        {edited !== null && <UserForm user={edited === 'new' ? null : edited} onDone={() => setEdited(null)} />}
      </Modal>
    </Page>
  )
}

function UserForm({ user, onDone }: { readonly user: User | null; readonly onDone: () => void }) {
  const queries = useQueryClient()
  const session = useSession()
  const [email, setEmail] = useState(user?.email ?? '')
  const [name, setName] = useState(user?.name ?? '')
  const [surname, setSurname] = useState(user?.surname ?? '')
  const [profile, setProfile] = useState<Profile>(user?.profile ?? 'advanced')
  const [password, setPassword] = useState('')
  const [mustChange, setMustChange] = useState(user ? user.forcePasswordChange === true : true)
  // Who may manage users gives no profile above the own.
  const profiles = PROFILES.slice(0, PROFILES.indexOf(session?.profile ?? 'viewer') + 1)
  const described = { name, surname, profile, forcePasswordChange: mustChange }
  const asked = user
    ? asking('PUT /provision/users/{email}', {
        path: { email: user.email },
        body: { user: { ...described, ...(password !== '' && { password }) } },
      })
    : asking('POST /provision/users', { body: { user: { email, password, ...described } } })
  const saving = useMutation({
    mutationFn: () => ask(asked),
    onSuccess: async () => {
      onDone()
      await queries.invalidateQueries({ queryKey: ['users'] })
    },
  })
  const isSelf = user?.email === session?.email
  const submit = (event: FormEvent) => {
    event.preventDefault()
    saving.mutate()
  }
  return (
    <form className="stack" onSubmit={submit}>
      <TextInput
        label="Email"
        type="email"
        required
        disabled={user !== null}
        value={email}
        onChange={event => setEmail(event.currentTarget.value)}
      />
      <TextInput label="Name" value={name} onChange={event => setName(event.currentTarget.value)} />
      <TextInput label="Surname" value={surname} onChange={event => setSurname(event.currentTarget.value)} />
      <Select
        label="Profile"
        data={profiles}
        value={profile}
        onChange={value => setProfile(PROFILES.find(each => each === value) ?? 'viewer')}
        allowDeselect={false}
        disabled={isSelf}
      />
      {!isSelf && (
        <>
          <PasswordInput
            label={user ? 'New password' : 'Password'}
            description={user ? 'Empty: it stays as it is' : ''}
            required={user === null}
            autoComplete="new-password"
            value={password}
            onChange={event => setPassword(event.currentTarget.value)}
          />
          <Switch
            label="Must change the password at first"
            checked={mustChange}
            onChange={event => setMustChange(event.currentTarget.checked)}
          />
        </>
      )}
      <DialogEnd ask={asked} error={saving.error} verb="Save" isPending={saving.isPending} onLeave={onDone} />
    </form>
  )
}
