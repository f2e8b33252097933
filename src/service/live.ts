/** Builds what live events are made of in a process with a door for clients, and stops it. Decides nothing. */
import type { Logger } from 'pino'
import type { Config } from '../config/config.ts'
import type { Clock } from '../engine/clock.ts'
import { createLiveEvents } from '../engine/live-events.ts'
import { createLiveOperations } from '../engine/live-operations.ts'
import { type AuthenticationParts, isStillLetIn } from '../north/authentication.ts'
import { createEventStreams, type EventStreams } from '../north/event-streams.ts'
import type { LiveEventRoutesParts } from '../north/live-events.ts'
import type { Database } from '../store/database.ts'

export interface Live {
  /** What the routes need, behind the authentication that let their callers in. */
  routes(door: AuthenticationParts): Omit<LiveEventRoutesParts, 'database'>
  /** streams that are open now */
  open(): number
  /** Ends every stream, and takes no more: to be called before the door is closed, which waits for them. */
  endStreams(): void
  stop(): Promise<void>
}

/** Starts to listen for changes. Fails if the database is away. */
export async function openLive(
  { liveStreamsMax, liveStreamsPerOrganizationMax }: Config,
  parts: { readonly database: Database; readonly clock: Clock; readonly log: Logger },
): Promise<Live> {
  const liveEvents = createLiveEvents(parts)
  const liveOperations = createLiveOperations(parts)
  const opened: EventStreams[] = []
  await liveEvents.start()
  liveOperations.start()
  return {
    routes(door) {
      const eventStreams = createEventStreams({
        max: liveStreamsMax,
        perOrganizationMax: liveStreamsPerOrganizationMax,
        isStillLetIn: request => isStillLetIn(request, door),
      })
      opened.push(eventStreams)
      return { liveEvents, liveOperations, eventStreams }
    },
    open: () => opened.reduce((sum, { size }) => sum + size, 0),
    endStreams() {
      for (const eventStreams of opened) eventStreams.close()
    },
    async stop() {
      await liveOperations.stop()
      await liveEvents.stop()
    },
  }
}
