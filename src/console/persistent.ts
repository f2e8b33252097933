/**
 * Parts of the console that are loaded when they are first shown. Where the network is gone they are asked for until it is back; where
 * the service answers and no longer has them, as after an upgrade, loading fails, and what bounds the part says so.
 */
const AGAIN_MS = 2_000
const REACHED_WITHIN_MS = 10_000

/** Loads a part once it is asked for, as `lazy` takes it. */
export const persistent =
  <T>(load: () => Promise<T>) =>
  () =>
    loadedAtLast(load)

async function loadedAtLast<T>(load: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await load()
    } catch {
      if (await isServiceThere()) return await load()
      await new Promise(resolve => setTimeout(resolve, AGAIN_MS))
    }
  }
}

const isServiceThere = (): Promise<boolean> =>
  fetch('/console/', { method: 'HEAD', signal: AbortSignal.timeout(REACHED_WITHIN_MS) }).then(
    () => true,
    () => false,
  )
