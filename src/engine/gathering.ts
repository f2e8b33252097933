/** Gathers calls that arrive one by one into batches, one batch under way at a time. Knows nothing of what is gathered. */

interface Waiting<In, Out> {
  readonly item: In
  readonly resolve: (out: Out) => void
  readonly reject: (error: unknown) => void
}

/**
 * Answers a function that resolves with its item's share of a batch's answer. `work` answers one value per item, in order; when it
 * fails, every item of the batch fails.
 */
export function gathered<In, Out>(
  work: (items: readonly In[]) => Promise<readonly Out[]>,
  { gatherMs = 4, batchMax = 500 }: { readonly gatherMs?: number; readonly batchMax?: number } = {},
): (item: In) => Promise<Out> {
  let queue: Waiting<In, Out>[] = []
  let busy = false
  let scheduled = false

  async function flush(): Promise<void> {
    scheduled = false
    if (busy) return
    busy = true
    while (queue.length > 0) {
      const batch = queue.slice(0, batchMax)
      queue = queue.slice(batchMax)
      try {
        const outs = await work(batch.map(({ item }) => item))
        batch.forEach(({ resolve }, i) => {
          resolve(outs[i]!)
        })
      } catch (error) {
        for (const { reject } of batch) reject(error)
      }
    }
    busy = false
  }

  return item =>
    new Promise((resolve, reject) => {
      queue.push({ item, resolve, reject })
      if (scheduled) return
      scheduled = true
      setTimeout(() => void flush(), gatherMs)
    })
}
