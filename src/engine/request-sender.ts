/**
 * Sends claimed requests by their connectors and turns what the connectors report into happenings. It knows what is on its way
 * from this node, so that nothing is taken for lost while it is being sent. Refuses to claim.
 */
import type { Logger } from 'pino'
import type { Flow } from '../domain/flow.ts'
import { type OperationKey, parseOperationId } from '../domain/identity.ts'
import { keyText } from '../store/operations.ts'
import type { Connector, DeviceMessage, OperationRequest, SendReport } from './connector.ts'
import type { Word } from './operation-draft.ts'
import type { OperationGatherer } from './operation-gatherer.ts'

export interface RequestSender {
  /** How many requests can be taken now. */
  capacity(): number
  /** Sends each request by its way. */
  send(requests: readonly (OperationRequest & { readonly flow: Flow })[]): void
  /** Whether this node is still busy sending an operation's request. */
  isSending(key: OperationKey): boolean
  stop(graceMs: number): Promise<void>
}

/** The word in a device's message. */
export function wordOf(message: DeviceMessage): Word {
  return {
    steps: message.steps,
    ...(message.resultCode !== undefined && { resultCode: message.resultCode }),
    ...(message.resultDescription !== undefined && { description: message.resultDescription }),
    ...(message.timestamp !== undefined && { timestamp: message.timestamp }),
    ...(message.raw !== undefined && { raw: message.raw }),
  }
}

/** `claimMax` bounds what one turn may take, however much the connectors could. */
export function createRequestSender(
  connectors: readonly Connector[],
  gatherer: OperationGatherer,
  log: Logger,
  claimMax = 500,
): RequestSender {
  const byFlow = new Map(connectors.map(connector => [connector.flow, connector]))
  const sending = new Set<string>()

  function onReport(request: OperationRequest & { readonly flow: Flow }, report: SendReport): void {
    const { key, flow } = request
    if (report.seen === 'answered') {
      sending.delete(keyText(key))
      const answered = parseOperationId(report.message.operationId)
      if (!answered || keyText(answered) !== keyText(key)) {
        log.debug({ operation: request.id }, 'a device answered for another operation in its exchange')
        gatherer.report({ key, word: { steps: [] } })
        return
      }
      gatherer.report({ key, word: wordOf(report.message) })
      return
    }
    if (report.seen !== 'sent') sending.delete(keyText(key))
    // Its send timer finds it in nobody's hands and gives it back.
    if (report.seen === 'notSent') return
    gatherer.report({
      key,
      seen: report.seen,
      flow,
      ...('description' in report && { description: report.description }),
    })
    if (report.seen === 'sent') sending.delete(keyText(key))
  }

  return {
    // A connector without room must not stop the others: what is claimed for it waits there for its turn or comes back.
    capacity: () => Math.min(claimMax, Math.max(0, ...connectors.map(connector => connector.capacity()))),
    send(requests) {
      for (const request of requests) sending.add(keyText(request.key))
      for (const [flow, group] of Map.groupBy(requests, request => request.flow)) {
        const connector = byFlow.get(flow)
        if (connector) connector.send(group, (request, report) => onReport({ ...request, flow }, report))
        else
          for (const request of group) onReport(request, { seen: 'unreachable', description: `no ${flow} connector` })
      }
    },
    isSending: key => sending.has(keyText(key)),
    async stop(graceMs) {
      await Promise.all(connectors.map(connector => connector.stop(graceMs)))
    },
  }
}
