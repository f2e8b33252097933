/** How long a client's library may take, where it has no such bound of its own. */

/** What the work gives, or an error after `ms` or as soon as the signal aborts; the work itself is left to end as it likes. */
export async function withinAttempt<T>(work: Promise<T>, ms: number, stopping: AbortSignal): Promise<T> {
  const over = AbortSignal.any([stopping, AbortSignal.timeout(ms)])
  const reason = () => new Error(stopping.aborted ? 'the service stopped' : `nothing came of it within ${ms} ms`)
  if (over.aborted) throw reason()
  const ended = new AbortController()
  const ending = new Promise<never>((_resolve, reject) => {
    over.addEventListener('abort', () => reject(reason()), { once: true, signal: ended.signal })
  })
  try {
    return await Promise.race([work, ending])
  } finally {
    ended.abort()
    work.catch(() => {})
  }
}
