/**
 * What a run came to, in one word and one exit code: it held, it did not, or it was not whole, since something was left out here. A run
 * that did less than it was asked for has not held. It finds nothing itself.
 */
import type { DoneFault } from './faults.ts'

/** What a run came to. */
export interface RunEnd {
  readonly wrong: readonly string[]
  /** what could not be tried here, each with the reason */
  readonly leftOut: readonly string[]
  /** numbers and words by name; what is neither is told elsewhere */
  readonly figures: Readonly<Record<string, unknown>>
}

/** The word under a run, and what its process ends with: 0 where everything held, 1 where something did not, 2 where it was not whole. */
export function verdictOf({ wrong, leftOut }: Pick<RunEnd, 'wrong' | 'leftOut'>): {
  word: string
  exitCode: 0 | 1 | 2
} {
  if (wrong.length > 0) return { word: `${wrong.length} things did not hold`, exitCode: 1 }
  if (leftOut.length > 0) return { word: `not whole, left out: ${leftOut.join('; ')}`, exitCode: 2 }
  return { word: 'everything held', exitCode: 0 }
}

/** What a run was asked for, and what it did. */
export interface Amounts {
  readonly asked: { readonly faults: number; readonly operations: number }
  readonly faults: readonly Pick<DoneFault, 'fault' | 'failure'>[]
  readonly operations: number
  /** what the answers to clients did not say clearly */
  readonly unclear: readonly string[]
}

/** Where a run did too little to show anything, or its clients were not told clearly what they can do. */
export function judgeAmounts({ asked, faults, operations, unclear }: Amounts): string[] {
  const failed = faults.filter(({ failure }) => failure !== undefined)
  return [
    ...failed.map(({ fault, failure }) => `the run: the fault '${fault}' was not carried out: ${failure}`),
    ...(faults.length < asked.faults
      ? [`the run: ${asked.faults} faults were asked for, ${faults.length} were tried`]
      : []),
    ...(operations < asked.operations
      ? [`the run: ${asked.operations} operations were asked for, ${operations} were made`]
      : []),
    ...unclear.map(each => `the run: a client was answered unclearly: ${each}`),
  ]
}
