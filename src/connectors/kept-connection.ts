/**
 * A connection that is kept for the next request, for those whom it may fail: the other side may close it at the very moment at which a
 * request leaves. It sends such a request once more and refuses to repeat any other.
 */
import { Client, type Dispatcher } from 'undici'

/** A connection that was closed before the request came breaks within one way there and back. */
const CROSSED_MS = 2_000

/**
 * The client of one connection. A request is sent again, once and over a new connection, where the one that carried it had been used
 * before and broke at once without a byte of an answer: whoever gets it twice finds the same id in it.
 */
export function keptConnection(origin: string | URL, options: object): Dispatcher {
  const client = new Client(origin, options)
  let used = false
  client.on('disconnect', () => {
    used = false
  })
  const onAnswer = () => {
    used = true
  }
  return client.compose(dispatch => (request, handler) => {
    const send = (to: Dispatcher.DispatchHandler) => dispatch(request, to)
    return send(sentAgain(handler, send, { isUsed: () => used, onAnswer }))
  })
}

function sentAgain(
  handler: Dispatcher.DispatchHandler,
  send: (handler: Dispatcher.DispatchHandler) => void,
  { isUsed, onAnswer }: { isUsed: () => boolean; onAnswer: () => void },
): Dispatcher.DispatchHandler {
  let mayRepeat = false
  let startedAt = 0
  return {
    onRequestStart(controller, context) {
      mayRepeat = isUsed()
      startedAt = performance.now()
      handler.onRequestStart?.(controller, context)
    },
    onRequestUpgrade: (...upgraded) => handler.onRequestUpgrade?.(...upgraded),
    onResponseStart(...started) {
      mayRepeat = false
      handler.onResponseStart?.(...started)
    },
    onResponseData: (...data) => handler.onResponseData?.(...data),
    onResponseEnd(...ended) {
      onAnswer()
      handler.onResponseEnd?.(...ended)
    },
    onResponseError(controller, error) {
      const crossed = mayRepeat && !controller.aborted && performance.now() - startedAt < CROSSED_MS
      mayRepeat = false
      if (crossed) send(this)
      else handler.onResponseError?.(controller, error)
    },
  }
}
