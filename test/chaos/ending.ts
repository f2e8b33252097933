/** How a run ends: everything comes to rest, then the nodes are stopped in order. It judges nothing but how they end. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { DeliveriesPage } from '../../src/contract/delivery.ts'
import type { ServiceNode } from './nodes.ts'
import type { Story } from './stories.ts'
import type { World } from './world.ts'

const QUIET_MS = 6_000
/** Longer than a delivery can be held by the claim of a process that died, and the attempts behind it. */
const CALLBACKS_WITHIN_MS = 120_000
const READY_WITHIN_MS = 120_000
const STOP_GRACE_MS = 30_000

/**
 * Waits for answers that come so late, until devices have been quiet for a while, and for callbacks, which are asked for at once instead of
 * after their pauses. What is not told then is left to the judge.
 */
export async function comesToRest(world: World, stories: readonly Story[], latestAnswerMs: number): Promise<void> {
  const from = Date.now()
  while (Date.now() - from < latestAnswerMs + QUIET_MS || Date.now() - world.lastEventAt() < QUIET_MS) await sleep(200)
  const untold = () =>
    stories.filter(
      ({ id }) => !world.receiver.heard.get(id)?.some(({ event, taken }) => taken && event === 'jobFinished'),
    )
  for (const until = Date.now() + CALLBACKS_WITHIN_MS; Date.now() < until; await sleep(1_000)) {
    let open = 0
    for (const { client } of world.parties) {
      const { body } = await client.call<DeliveriesPage | undefined>('GET', '/north/v80/deliveries?state=OPEN&size=200')
      for (const { id } of body?.deliveries ?? []) await client.call('POST', `/north/v80/deliveries/${id}/repeat`)
      open += body?.deliveries.length ?? 0
    }
    if (open === 0 && untold().length === 0) return
  }
}

/**
 * Stops every node in order: each must have come back from whatever befell it and end with 0 when it is told to, as in every earlier stop,
 * and none may have ended by itself.
 */
export async function stopNodes({
  nodes,
}: {
  readonly nodes: readonly Pick<ServiceNode, 'name' | 'deaths' | 'stops' | 'ready' | 'stop'>[]
}): Promise<string[]> {
  const wrong = await Promise.all(
    nodes.map(async node => {
      const notReady = await node.ready(READY_WITHIN_MS).then(
        () => [],
        (error: unknown) => [`6: ${error instanceof Error ? error.message : String(error)}`],
      )
      const before = node.stops.length
      await node.stop(STOP_GRACE_MS)
      const stopped = node.stops.length - before
      return [
        ...notReady,
        ...(stopped === 1 ? [] : [`6: ${node.name} was to be stopped in order once, and was ${stopped} times`]),
        ...node.deaths.map(death => `6: ${death}`),
        ...node.stops
          .filter(code => code !== 0)
          .map(
            code => `6: ${node.name} was stopped in order and ended with ${code ?? 'SIGKILL, since it took too long'}`,
          ),
      ]
    }),
  )
  return wrong.flat()
}
