/**
 * How views stay up to date: by the stream of live events, and by asking again where it does not stand. What is shown carries the time
 * at which it was learned.
 */
import { keepPreviousData, type UseQueryResult, useQuery } from '@tanstack/react-query'
import { type Ask, ask } from './request.ts'
import { useStreamState } from './stream.ts'

/** How often a live view asks again: without the stream, and with it, for what no event tells. */
const WITHOUT_STREAM_MS = 2_000
const WITH_STREAM_MS = 30_000

/** How often to ask again now, in milliseconds. */
export const useLiveMs = (): number => (useStreamState() === 'live' ? WITH_STREAM_MS : WITHOUT_STREAM_MS)

export interface LiveOptions {
  /** kept up to date while it is shown */
  readonly live?: boolean
  /** asked again so often, in milliseconds, where live would cost too much */
  readonly every?: number | false
  readonly enabled?: boolean
  /** keep showing the answer to the request before until this one is answered */
  readonly keep?: boolean
}

/** One request as a query, kept by what it asks. `null` where the service has nothing. */
export function useAsked<T>(
  asked: Ask<T>,
  { live = false, every = false, enabled = true, keep = false }: LiveOptions = {},
): UseQueryResult<NonNullable<T> | null> {
  const liveMs = useLiveMs()
  return useQuery<NonNullable<T> | null>({
    queryKey: keyOf(asked),
    queryFn: async ({ signal }) => (await ask(asked, signal)) ?? null,
    enabled,
    refetchInterval: live ? liveMs : every,
    ...(keep && { placeholderData: keepPreviousData }),
  })
}

/** The key under which an answer is kept: the noun, so that all of it can be forgotten at once, and the whole request. */
export const keyOf = ({ name, given }: Ask<unknown>): readonly unknown[] => [nounOf(name), name, given]

const nounOf = (name: string): string => {
  if (name.includes('/search/jobs') || name.includes('/operation/jobs')) return 'jobs'
  if (name.includes('/search/entities/operations')) return 'jobs'
  if (name.includes('tasks')) return 'tasks'
  if (name.includes('perationTypes')) return 'types'
  if (name.includes('/users')) return 'users'
  if (name.includes('deliveries')) return 'deliveries'
  if (name.includes('devices') || name.includes('entities')) return 'devices'
  return name
}
