/** `drover logout`: what `drover login` kept is forgotten. */
import type { Command } from 'commander'
import { command } from '../frame/command.ts'
import { forgetSignedIn, signedInFile } from '../frame/signed-in.ts'
import type { Surroundings } from '../frame/surroundings.ts'

/** The command that forgets it. */
export function logoutCommand(surroundings: Surroundings): Command {
  return command(
    surroundings,
    {
      usage: 'logout',
      description: 'forget who is signed in',
      examples: [{ meaning: 'at the end of the day', line: 'drover logout' }],
      service: false,
    },
    async ({ out }) => {
      const file = signedInFile(surroundings.env)
      const was = await forgetSignedIn(surroundings.env)
      await out.answer({ signedOut: was, file }, () => (was ? 'Signed out.' : 'Nobody was signed in.'))
      return undefined
    },
  )
}
