/** `drover deliveries`: what was told to clients, and telling it again. Serves: Events. */
import type { Command } from 'commander'
import type { DeliveryView, Given } from '../../contract/client/client.ts'
import { command, commandForEach, group } from '../frame/command.ts'
import { type Cell, facts, type Output, tableOr } from '../frame/output.ts'
import type { Surroundings } from '../frame/surroundings.ts'
import { count } from '../reading/values.ts'

const LISTED = 20
const TITLES = ['id', 'job', 'event', 'channel', 'state', 'attempts', 'status', 'attempted', 'receiver', 'error']

/** The group of commands. */
export function deliveriesCommand(surroundings: Surroundings): Command {
  return group({ usage: 'deliveries', description: 'notifications: what was told to clients', examples: [] }, [
    listCommand(surroundings),
    showCommand(surroundings),
    repeatCommand(surroundings),
  ])
}

function row(
  { id, jobId, event, channel, state, attempts, lastStatus, attemptedDate, receiver, lastError }: DeliveryView,
  out: Output,
): Cell[] {
  return [id, jobId, event, channel, state, attempts, lastStatus, out.instant(attemptedDate), receiver, lastError]
}

function inWords(delivery: DeliveryView, out: Output): string {
  return facts([
    ['Delivery', delivery.id],
    ['Job', delivery.jobId],
    ['Event', delivery.event],
    ['Channel', delivery.channel],
    ['Receiver', delivery.receiver],
    ['State', delivery.state],
    ['Attempts', delivery.attempts],
    ['Last status', delivery.lastStatus],
    ['Last error', delivery.lastError],
    ['Created', out.instant(delivery.createdDate)],
    ['Attempted', out.instant(delivery.attemptedDate)],
    ['Finished', out.instant(delivery.finishedDate)],
  ])
}

function listCommand(surroundings: Surroundings): Command {
  return command(
    surroundings,
    {
      usage: 'list',
      description: 'deliveries, the latest first',
      examples: [
        { meaning: 'what was given up', line: 'drover deliveries list --state GIVEN_UP' },
        { meaning: 'what was told of a job', line: 'drover deliveries list --job $JOB' },
      ],
      declare: made => {
        made
          .option('--job <id>', 'only of this job')
          .option('--state <word>', 'only those OPEN, DELIVERED or GIVEN_UP')
          .option('--limit <n>', 'at most so many, up to 1000', count, LISTED)
      },
    },
    async run => {
      const { out, options } = run
      const { job, state, limit } = options as { job?: string; state?: State; limit: number }
      const { client } = await run.session()
      const page = await client.call('GET /deliveries', { query: { job, state, size: Math.min(1_000, limit) } })
      const deliveries = page?.deliveries ?? []
      await out.answer(deliveries, () =>
        tableOr(
          'No deliveries.',
          TITLES,
          deliveries.map(each => row(each, out)),
        ),
      )
      return undefined
    },
  )
}

/** The service is the judge of the word. */
type State = NonNullable<Given<'GET /deliveries'>['query']>['state']

function showCommand(surroundings: Surroundings): Command {
  return command(
    surroundings,
    {
      usage: 'show <delivery>',
      description: 'one delivery',
      examples: [{ meaning: 'how a delivery stands', line: 'drover deliveries show $DELIVERY' }],
    },
    async (run, deliveryId) => {
      const { client } = await run.session()
      const delivery = await client.call('GET /deliveries/{deliveryId}', { path: { deliveryId: deliveryId! } })
      await run.out.answer(delivery, () => inWords(delivery, run.out))
      return undefined
    },
  )
}

function repeatCommand(surroundings: Surroundings): Command {
  return commandForEach(
    surroundings,
    {
      usage: 'repeat <deliveries...>',
      description: 'tell it again, whatever became of it',
      examples: [{ meaning: 'once more', line: 'drover deliveries repeat $DELIVERY' }],
    },
    (client, deliveryId) => client.call('POST /deliveries/{deliveryId}/repeat', { path: { deliveryId } }),
    delivery => `Delivery ${delivery.id} to ${delivery.receiver} is ${delivery.state}.`,
  )
}
