/** What an operator may set of limits: how much a client may ask for at once, and how long what has ended is kept. */
import { row } from './row.ts'
import { longestMs, wholeNumber } from './values.ts'

export const limits = {
  targetEntitiesMax: row(
    'DROVER_TARGET_ENTITIES_MAX',
    '100',
    wholeNumber(1, 100_000),
    'Entities in one array of a target.',
  ),
  bodyBytesMax: row(
    'DROVER_BODY_BYTES_MAX',
    '307200',
    wholeNumber(1_024, 1_073_741_824),
    'Bytes of the body of a request, of what a device says over HTTP or MQTT, and of what it answers to a request.',
  ),
  bulkBytesMax: row(
    'DROVER_BULK_BYTES_MAX',
    '104857600',
    wholeNumber(1_024, 10_737_418_240),
    'Size of the body of a bulk provisioning, which is read as it comes.',
  ),
  bulkRowsMax: row(
    'DROVER_BULK_ROWS_MAX',
    '100000',
    wholeNumber(1, 10_000_000),
    'Entities in one bulk provisioning; their results are held until all are done.',
  ),
  minOperationTimeoutMs: row(
    'DROVER_MIN_OPERATION_TIMEOUT_MS',
    '40000',
    wholeNumber(0, longestMs),
    'The `timeout` and `ackTimeout` of a job together must be longer than this.',
  ),
  cancelAtOnceMax: row(
    'DROVER_CANCEL_AT_ONCE_MAX',
    '10000',
    wholeNumber(0, 1_000_000),
    'A job with no more open operations than this, none launched, is cancelled when the DELETE returns.',
  ),
  retentionMonths: row(
    'DROVER_RETENTION_MONTHS',
    null,
    wholeNumber(1, 1_200),
    'Ended operations older than this are removed; kept for ever when unset.',
  ),
  deliveryRetentionDays: row(
    'DROVER_DELIVERY_RETENTION_DAYS',
    '90',
    wholeNumber(1, 36_500),
    'Deliveries that ended longer ago leave their log, and can no longer be repeated.',
  ),
} as const
