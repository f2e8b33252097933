/** Does work for items one after the other, so that one that fails does not stop those behind it. Knows nothing of the work. */

/** Resolves when every item had its turn, or the signal aborts; throws the first failure then, so that its loop tries again. */
export async function oneByOne<T>(
  items: readonly T[],
  signal: AbortSignal,
  work: (item: T) => Promise<void>,
): Promise<void> {
  const failures: unknown[] = []
  for (const item of items) {
    if (signal.aborted) break
    await work(item).catch((error: unknown) => failures.push(error))
  }
  if (failures.length > 0) throw failures[0]
}
