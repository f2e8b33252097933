/** `drover users`: who may do what in an organization. Passwords are asked for or read from a pipe, and kept nowhere. Serves: Authentication. */
import type { Command } from 'commander'
import type { UserAnswer, UserBody, UserChangeBody } from '../../contract/client/client.ts'
import { ask, firstLines } from '../frame/asking.ts'
import { command, commandForEach, group, type Run } from '../frame/command.ts'
import { CommandFailed } from '../frame/exit-codes.ts'
import { type Cell, facts, tableOr } from '../frame/output.ts'
import type { Surroundings } from '../frame/surroundings.ts'
import { anyValue, declareFilter, filterOf } from '../reading/filters.ts'
import { count, each, member, words } from '../reading/values.ts'
import { listedRows } from '../rows/found-rows.ts'

const LISTED = 50
const TITLES = ['email', 'profile', 'organization', 'name', 'surname', 'description']
type User = UserAnswer['user']

/** The group of commands. */
export function usersCommand(surroundings: Surroundings): Command {
  return group({ usage: 'users', description: 'who may do what', examples: [] }, [
    listCommand(surroundings),
    showCommand(surroundings),
    createCommand(surroundings),
    changeCommand(surroundings),
    passwordCommand(surroundings),
    keyCommand(surroundings),
    deleteCommand(surroundings),
  ])
}

const row = ({ email, profile, domain, name, surname, description }: User): Cell[] => [
  email,
  profile,
  domain,
  name,
  surname,
  description,
]

function inWords(user: User): string {
  const { apiKey: _secret, '2FaType': _none, email, profile, domain, workgroup: _place, ...rest } = user
  const known: readonly (readonly [string, Cell])[] = [
    ['Email', email],
    ['Profile', profile],
    ['Organization', domain],
  ]
  return facts([...known, ...Object.entries(rest).map(([name, value]) => [name, shownValue(value)] as const)])
}

const shownValue = (value: unknown): Cell =>
  typeof value === 'object' && value !== null ? JSON.stringify(value) : (value as Cell)

/** Without the key, which only `drover users key` shows. */
function withoutKey({ apiKey: _secret, ...user }: User): Omit<User, 'apiKey'> {
  return user
}

function listCommand(surroundings: Surroundings): Command {
  return command(
    surroundings,
    {
      usage: 'list',
      description: 'users, by email',
      examples: [{ meaning: 'who manages users', line: 'drover users list --profile admin,root' }],
      declare: made => {
        made
          .option('--profile <words>', 'only those of these profiles', words)
          .option('--limit <n>', 'at most so many', count, LISTED)
        declareFilter(made)
      },
    },
    async run => {
      const { out, options } = run
      const filter = await filterOf(options, surroundings, anyValue('users.profile', options.profile))
      const sort = { parameters: [{ name: 'users.email', type: 'ASCENDING' as const }] }
      const body = { sort, ...(filter && { filter }) }
      const users = await listedRows(run, 'POST /search/users', body)
      await out.answer(users, () => tableOr('No users.', TITLES, users.map(row)))
      return undefined
    },
  )
}

function showCommand(surroundings: Surroundings): Command {
  return command(
    surroundings,
    {
      usage: 'show <email>',
      description: 'one user, without its key',
      examples: [{ meaning: 'who somebody is', line: 'drover users show admin@drover.test' }],
    },
    async (run, email) => {
      const { client } = await run.session()
      const { user } = await client.call('GET /provision/users/{email}', { path: { email: email! } })
      await run.out.answer(withoutKey(user), () => inWords(user))
      return undefined
    },
  )
}

function declareMembers(made: Command): void {
  made
    .option('--profile <word>', 'viewer, advanced, admin_domain, super_admin_domain, admin or root')
    .option('--name <text>', 'first name')
    .option('--surname <text>', 'family name')
    .option('--description <text>', 'who that is')
    .option('--set <name=value>', 'any other member, such as langCode=en', each)
}

/** The members that the options say; the service is their judge. */
function readMembers({ options }: Run): UserChangeBody['user'] {
  const given = options as Readonly<Record<string, string | undefined>>
  const named = ['profile', 'name', 'surname', 'description'].filter(name => given[name] !== undefined)
  const others = Array.isArray(options.set) ? options.set.map(text => member('--set', text)) : []
  return Object.fromEntries([...named.map(name => [name, given[name]] as const), ...others])
}

function createCommand(surroundings: Surroundings): Command {
  return command(
    surroundings,
    {
      usage: 'create <email>',
      description: 'make a user, in the organization that --organization names or your own',
      examples: [
        {
          meaning: 'the password from a pipe',
          line: 'drover users create ana@example.com --profile advanced --name Ana --password-stdin < password.txt',
        },
      ],
      declare: made => {
        declareMembers(made)
        made.option('--password-stdin', 'read the password from standard input')
      },
    },
    async (run, email) => {
      const { options, out } = run
      const domain = options.organization === undefined ? {} : { domain: String(options.organization) }
      const members = readMembers(run)
      if (members.profile === undefined) throw new CommandFailed('usage', 'Say with --profile what the user may do.')
      const { client } = await run.session()
      const [password = ''] = await newPassword(run, [])
      const user = { ...members, ...domain, email: email!, password } as UserBody['user']
      const made = await client.call('POST /provision/users', { body: { user } })
      await out.answer(withoutKey(made.user), () => inWords(made.user))
      return undefined
    },
  )
}

/** Answers what is asked for before, and the new password: lines of standard input, or typed. */
async function newPassword(run: Run, before: readonly string[]): Promise<string[]> {
  const questions = [...before, 'New password: ']
  if (run.options.passwordStdin === true) return await firstLines(run.surroundings, questions.length)
  const answers: string[] = []
  for (const question of questions) answers.push(await ask(run, question, true))
  return answers
}

function changeCommand(surroundings: Surroundings): Command {
  return command(
    surroundings,
    {
      usage: 'change <email>',
      description: 'change what is known of a user, or what it may do',
      examples: [
        {
          meaning: 'let somebody manage devices',
          line: 'drover users change colleague@example.com --profile advanced',
        },
        {
          meaning: 'their language',
          line: 'drover users change colleague@example.com --set langCode=en --set timezone=Europe/Madrid',
        },
      ],
      declare: declareMembers,
    },
    async (run, email) => {
      const members = readMembers(run)
      if (Object.keys(members).length === 0) throw new CommandFailed('usage', 'Say what to change.')
      const { client } = await run.session()
      const { user } = await client.call('PUT /provision/users/{email}', {
        path: { email: email! },
        body: { user: members },
      })
      await run.out.answer(withoutKey(user), () => inWords(user))
      return undefined
    },
  )
}

const OWN = ['--own', 'it is your own: the present password is asked for first'] as const

function passwordCommand(surroundings: Surroundings): Command {
  return command(
    surroundings,
    {
      usage: 'password <email>',
      description: 'give a user another password; all tokens of that user end',
      examples: [
        {
          meaning: 'the new password from a pipe',
          line: 'drover users password colleague@example.com --password-stdin < password.txt',
        },
      ],
      declare: made => {
        made
          .option(...OWN)
          .option('--password-stdin', 'read it from standard input, with --own after a line with the present one')
      },
    },
    async (run, email) => {
      const { client } = await run.session()
      const asked = await newPassword(run, run.options.own === true ? ['Present password: '] : [])
      const password = asked.at(-1) ?? ''
      const { user } = await client.call('PUT /provision/users/{email}', {
        path: { email: email! },
        ...(run.options.own === true && { header: { 'x-apipass': asked[0] } }),
        body: { user: { password } },
      })
      await run.out.answer(withoutKey(user), () => `The password of ${user.email} is changed; its tokens have ended.`)
      return undefined
    },
  )
}

function keyCommand(surroundings: Surroundings): Command {
  return command(
    surroundings,
    {
      usage: 'key <email>',
      description: "print a user's API key, or make another one",
      examples: [
        { meaning: 'for a program of theirs', line: 'drover users key colleague@example.com' },
        { meaning: 'another one, which ends the one before', line: 'drover users key colleague@example.com --new' },
      ],
      declare: made => {
        made
          .option('--new', 'make another one; the one before is no good any more')
          .option(...OWN)
          .option('--password-stdin', 'with --own: read the present password from standard input')
      },
    },
    async (run, email) => {
      const { out, options, surroundings } = run
      const path = { email: email! }
      const { client } = await run.session()
      const { user } =
        options.new === true ? await renewed() : await client.call('GET /provision/users/{email}', { path })
      if (user.apiKey === undefined)
        throw new CommandFailed('notPermitted', `The key of ${user.email} is not yours to see.`)
      await out.answer({ email: user.email, apiKey: user.apiKey }, () => `${user.apiKey}\n`)
      return undefined

      async function renewed(): Promise<UserAnswer> {
        const present =
          options.own !== true
            ? undefined
            : options.passwordStdin === true
              ? (await firstLines(surroundings, 1))[0]
              : await ask(run, 'Present password: ', true)
        return await client.call('PUT /provision/users/{email}', {
          path,
          ...(present !== undefined && { header: { 'x-apipass': present } }),
          body: { user: { apiKey: null } },
        })
      }
    },
  )
}

function deleteCommand(surroundings: Surroundings): Command {
  return commandForEach(
    surroundings,
    {
      usage: 'delete <emails...>',
      description: 'remove users; their jobs and tasks stay',
      examples: [{ meaning: 'somebody has left', line: 'drover users delete leaver@example.com' }],
    },
    async (client, email) => {
      await client.call('DELETE /provision/users/{email}', { path: { email } })
      return { email, removed: true }
    },
    ({ email }) => `User ${email} is removed.`,
  )
}
