/** What people are told of a job that ended, for the tests of those who tell it. */
import { noCounters, summaryOf } from '../src/domain/counters.ts'
import type { JobNotice } from '../src/domain/delivery.ts'
import type { DeliveryMessage } from '../src/engine/connector.ts'

export const jobNotice: JobNotice = {
  id: '0123456789abcdef',
  name: 'REBOOT_EQUIPMENT',
  user: 'ann@example.com',
  userNotes: 'at night',
  execution: {
    activatedDate: '2026-03-01T10:00:00.000Z',
    startedDate: '2026-03-01T10:00:01.000Z',
    finishedDate: '2026-03-01T10:05:00.000Z',
  },
  summary: {
    status: 'FINISHED_WITH_ERRORS',
    ...summaryOf({ ...noCounters(), successful: 7, error: 2, by_user: 1 }),
    errorCode: '0x020012',
    errorDescription: 'ERROR_PROCESSING: 2, CANCELLED: 1',
  },
}

/** The notice as a connector is handed it. */
export function noticeMessage(more: Partial<DeliveryMessage> = {}): DeliveryMessage {
  return {
    id: '01234567-89ab-8cde-8f10-000000000000',
    organization: 1,
    job: 1n,
    event: 'jobFinished',
    receiver: '',
    body: JSON.stringify(jobNotice),
    at: new Date('2026-03-01T10:05:01Z'),
    ...more,
  }
}
