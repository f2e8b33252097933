/** How a run ends: everything comes to rest, then the nodes are stopped in order. It judges nothing but how they end. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { DeliveriesPage } from '../../src/contract/delivery.ts'
import type { Story } from './stories.ts'
import type { World } from './world.ts'

const QUIET_MS = 6_000
/** Longer than a delivery can be held by the claim of a process that died, and the attempts behind it. */
const CALLBACKS_WITHIN_MS = 120_000
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

/** Stops every node in order: each must end with 0, and none may have ended before that by itself. */
export async function stopNodes({ nodes }: Pick<World, 'nodes'>): Promise<string[]> {
  await Promise.all(nodes.map(node => node.stop(STOP_GRACE_MS)))
  return nodes.flatMap(({ name, deaths, stops }) => [
    ...deaths.map(death => `6: ${death}`),
    ...stops
      .filter(code => code !== 0)
      .map(code => `6: ${name} was stopped in order and ended with ${code ?? 'SIGKILL, since it took too long'}`),
  ])
}
