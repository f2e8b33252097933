/**
 * What the nodes of a run told of themselves, read from their logs: which requests go out again and why, and how long a node was silent.
 * It judges nothing.
 */
import { readFile } from 'node:fs/promises'
import type { ServiceNode } from './nodes.ts'

/**
 * Why a request that may have left goes out again: its sender is lost, does not know itself that it left, or has handed it to a device
 * that said nothing of it since.
 */
export interface GivenBack {
  readonly cause: 'sender lost' | 'not sent' | 'not heard of'
  readonly at: number
  /** of what was not heard of: for how long */
  readonly silentMs?: number
  /** index of the node that had the request in hand; -1 where it never said its number */
  readonly sender: number
  /** index of the node that gave it back */
  readonly by: number
}

/** A node that did not write down that it lives. */
export interface Silence {
  readonly node: number
  readonly fromMs: number
  readonly toMs: number
}

export interface Told {
  /** by operation */
  readonly givenBack: ReadonlyMap<string, readonly GivenBack[]>
  readonly silences: readonly Silence[]
}

interface Line {
  readonly time: number
  readonly msg: string
  readonly node?: number
  readonly silentMs?: number
  readonly operation?: string
  readonly sender?: number
}

/** Reads it all. The numbers of nodes become indexes: a process started again has another number and is the same node. */
export async function readTold(nodes: readonly Pick<ServiceNode, 'logFile'>[]): Promise<Told> {
  const lines = await Promise.all(nodes.map(async ({ logFile }) => linesOf(await readFile(logFile, 'utf8'))))
  const indexes = new Map<number | undefined, number>()
  lines.forEach((of, index) => {
    for (const { msg, node } of of) if (msg === 'the living nodes changed') indexes.set(node, index)
  })
  const givenBack = new Map<string, GivenBack[]>()
  const silences: Silence[] = []
  lines.forEach((of, by) => {
    for (const { time: at, msg, operation = '', sender, silentMs = 0 } of of) {
      const back = (cause: GivenBack['cause'], from: number, silence: Pick<GivenBack, 'silentMs'> = {}) =>
        givenBack.set(operation, [...(givenBack.get(operation) ?? []), { cause, at, sender: from, by, ...silence }])
      if (msg.startsWith('the sender of a request is lost')) back('sender lost', indexes.get(sender) ?? -1)
      if (msg.startsWith('a request was not sent')) back('not sent', by)
      if (msg.startsWith('a request was not heard of')) back('not heard of', by, { silentMs })
      if (msg.startsWith('this node was silent')) silences.push({ node: by, fromMs: at - silentMs, toMs: at })
    }
  })
  return { givenBack, silences }
}

/** Those that say something of this; a node that is killed breaks off in the middle of a line. */
function linesOf(log: string): Line[] {
  return log.split('\n').flatMap((text): Line[] => {
    if (!/"msg":"(the living nodes|the sender of|a request was not|this node was silent)/.test(text)) return []
    try {
      return [JSON.parse(text)]
    } catch {
      return []
    }
  })
}
