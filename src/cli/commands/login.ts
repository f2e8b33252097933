/** `drover login`: who one is at a service, kept for the next commands. A password is asked for, and kept nowhere. */
import type { Command } from 'commander'
import { createClient } from '../../contract/client/client.ts'
import { ask, firstLines } from '../frame/asking.ts'
import { command } from '../frame/command.ts'
import { CommandFailed } from '../frame/exit-codes.ts'
import { serviceUrl } from '../frame/session.ts'
import { keepSignedIn, readToken } from '../frame/signed-in.ts'
import type { Surroundings } from '../frame/surroundings.ts'

/** The command that signs in. */
export function loginCommand(surroundings: Surroundings): Command {
  return command(
    surroundings,
    {
      usage: 'login',
      description: 'sign in to a service; the token is kept in a file that only you can read, the password nowhere',
      examples: [
        { meaning: 'asks for the password', line: 'drover login --url $DROVER_URL --email admin@drover.test' },
        {
          meaning: 'for scripts',
          line: 'drover login --url $DROVER_URL --email admin@drover.test --password-stdin < password.txt',
        },
      ],
      declare: made => {
        made
          .option('--email <email>', 'who you are')
          .option('--password-stdin', 'read the password from standard input')
      },
    },
    async run => {
      const { options, out } = run
      const url = await serviceUrl({ url: options.url as string | undefined }, surroundings.env)
      const email = typeof options.email === 'string' ? options.email : await ask(run, 'Email: ')
      const [password = ''] =
        options.passwordStdin === true ? await firstLines(surroundings, 1) : [await ask(run, 'Password: ', true)]
      const client = createClient({ url })
      const { user } = await client.call('POST /provision/users/login', { body: { email, password } })
      if (user.jwt === undefined) throw new CommandFailed('failed', 'The service gave no token.')
      const { organization, expiresDate } = readToken(user.jwt)
      const file = await keepSignedIn(surroundings.env, {
        url,
        token: user.jwt,
        email: user.email,
        organization,
        expiresDate,
      })
      const told = { url, email: user.email, profile: user.profile, organization, expiresDate, file }
      await out.answer(
        told,
        () =>
          `Signed in to ${url} as ${user.email} (${user.profile} of ${organization}) until ${out.instant(expiresDate)}.`,
      )
      if (surroundings.env.DROVER_API_KEY) out.remark('DROVER_API_KEY is set, and goes before this login.')
      return undefined
    },
  )
}
