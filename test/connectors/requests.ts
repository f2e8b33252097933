/** Requests as the engine hands them to a connector, and a book of what the connector reported. */
import { operationId } from '../../src/domain/identity.ts'
import type { Connector, DeviceAddress, OperationRequest, SendReport } from '../../src/engine/connector.ts'

let count = 0n

/** A request like any other, except for what is given. */
export function request(
  device: Partial<DeviceAddress> = {},
  rest: Partial<Omit<OperationRequest, 'device'>> = {},
): OperationRequest {
  count += 1n
  const key = { job: 5_000_000_000n, partition: 7, entity: count }
  return {
    key,
    id: operationId(key),
    name: 'REBOOT_EQUIPMENT',
    parameters: { type: 'HARDWARE' },
    launchedAt: Date.UTC(2026, 2, 1, 12),
    device: {
      organization: 1,
      deviceId: 'pump-1',
      partition: 7,
      entity: count,
      apiKey: 'key-of-pump-1',
      parametersAs: 'typed',
      ...device,
    },
    exchangeMs: 20_000,
    ...rest,
  }
}

/** What a connector reported, in order, by operation id. */
export interface Reports {
  readonly all: { readonly id: string; readonly report: SendReport }[]
  /** sends requests and books what is reported of them */
  send(connector: Connector, requests: readonly OperationRequest[]): void
  /** what was reported of one request so far */
  of(request: OperationRequest): SendReport[]
  /** resolves once so many reports of a request, or of all, were seen */
  until(count: number, request?: OperationRequest): Promise<SendReport[]>
}

export function bookReports(): Reports {
  const all: { id: string; report: SendReport }[] = []
  const watchers: (() => void)[] = []
  const of = (asked?: OperationRequest) =>
    all.filter(({ id }) => asked === undefined || id === asked.id).map(({ report }) => report)
  return {
    all,
    of,
    send(connector, requests) {
      connector.send(requests, (reported, report) => {
        all.push({ id: reported.id, report })
        for (const watcher of watchers.slice()) watcher()
      })
    },
    until(wanted, asked) {
      return new Promise(resolve => {
        const look = () => {
          if (of(asked).length < wanted) return
          const at = watchers.indexOf(look)
          if (at >= 0) watchers.splice(at, 1)
          resolve(of(asked))
        }
        watchers.push(look)
        look()
      })
    },
  }
}
