/** `drover simulate`: a fleet of pretend devices, as a process of its own. */
import type { Command } from 'commander'
import { declareFleet, readFleet } from '../../simulator/command-line.ts'
import { command } from '../frame/command.ts'
import { CommandFailed } from '../frame/exit-codes.ts'
import type { Surroundings } from '../frame/surroundings.ts'
import { become } from '../processes/become.ts'
import { SIMULATOR_FLAGS } from '../processes/entries.ts'

/** The command that plays a fleet. Its options are the simulator's own, which reads them again as they were given. */
export function simulateCommand(surroundings: Surroundings): Command {
  const made: Command = command(
    surroundings,
    {
      usage: 'simulate',
      description:
        'play a fleet of devices against a service, with the key in DROVER_API_KEY; prints a line of JSON for what happens',
      examples: [
        {
          meaning: 'make a hundred devices known that connect over MQTT or ask for their work',
          line: 'drover simulate --list --devices 100 --flows mqtt,pull | drover devices import - --format json',
        },
        {
          meaning: 'play them until interrupted; one operation in ten fails',
          line: 'drover simulate --devices 100 --flows mqtt,pull --mqtt $MQTT --fail 0.1',
        },
        {
          meaning: 'what makes a hundred devices of all kinds known: those that are called are called at this port',
          line: 'drover simulate --list --devices 100 --listen-port 9000',
        },
      ],
      service: false,
      output: false,
      declare: declareFleet,
    },
    async ({ options, surroundings: { env } }) => {
      try {
        readFleet(options, env)
      } catch (error) {
        throw error instanceof RangeError ? new CommandFailed('usage', `${error.message}.`) : error
      }
      const asGiven = made.parent?.args.slice(1) ?? []
      return await become('simulator/main', asGiven, process.env, SIMULATOR_FLAGS)
    },
  )
  return made
}
