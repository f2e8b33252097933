/**
 * The door through which devices' messages reach their operations: finds the operation, sees that it is the device's, and submits
 * the word. Resolves after the commit. Refuses to know the wire.
 */
import { parseOperationId } from '../domain/identity.ts'
import type { Database } from '../store/database.ts'
import { fileMessages } from '../store/filed-messages.ts'
import { carriedAmong } from '../store/operation-devices.ts'
import type { Clock } from './clock.ts'
import type { DeviceMessage } from './connector.ts'
import { gathered } from './gathering.ts'
import type { Answer } from './operation-draft.ts'
import { isMalformed, type OperationGatherer } from './operation-gatherer.ts'
import { wordOf } from './request-sender.ts'

export interface Answers {
  /**
   * `taken` once what the message says is committed, also where it changed nothing; `unknown` for an operation that does not exist,
   * was never launched or is not this device's. Rejects with a DroverError where the message cannot be stored.
   */
  submit(message: DeviceMessage): Promise<'taken' | 'unknown'>
}

/** Files a message that changed nothing, with the reason, for people who look for it. */
export type FileMessage = (filed: { readonly message: DeviceMessage; readonly reason: string }) => Promise<void>

/** Messages of the same moment are filed in one statement. */
export function createMessageFiling(database: Database, clock: Clock): FileMessage {
  return gathered(async (messages: readonly Parameters<FileMessage>[0][]) => {
    await fileMessages(
      database,
      messages.map(({ message, reason }) => ({
        organization: message.organization,
        identifier: message.deviceId,
        operationId: message.operationId,
        reason,
        message: message.raw ?? '',
      })),
      clock.now(),
    )
    return messages.map(() => undefined)
  })
}

export function createAnswers(database: Database, gatherer: OperationGatherer, file: FileMessage): Answers {
  const carries = gathered((pairs: readonly Parameters<typeof carriedAmong>[1][number][]) =>
    carriedAmong(database, pairs),
  )

  return {
    async submit(message) {
      const key = parseOperationId(message.operationId)
      const own = key?.entity === message.entity && key.partition === message.partition
      const belongs =
        key !== undefined &&
        (own ||
          (await carries({
            partition: key.partition,
            entity: key.entity,
            devicePartition: message.partition,
            device: message.entity,
          })))
      let answer: Answer = 'unknown'
      try {
        if (belongs) answer = await gatherer.submit({ key, word: wordOf(message) })
      } catch (error) {
        if (isMalformed(error)) await file({ message, reason: 'cannot be stored' })
        throw error
      }
      if (answer !== 'taken') await file({ message, reason: answer === 'stray' ? 'stray' : 'unknown operation' })
      return answer === 'unknown' ? 'unknown' : 'taken'
    },
  }
}
