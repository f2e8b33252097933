/** The log of what was told to clients, as they read it. It says what travels and decides nothing. Serves: Events. */
import { type Static, Type } from 'typebox'
import { DELIVERY_CHANNELS, DELIVERY_EVENTS, DELIVERY_STATES } from '../domain/delivery.ts'
import { PageQuery, PageView } from './operation.ts'

/** Which deliveries, and which page of them. */
export const DeliveriesQuery = Type.Object({
  ...PageQuery.properties,
  job: Type.Optional(Type.String({ description: 'Those of one job, by its id' })),
  state: Type.Optional(Type.Enum([...DELIVERY_STATES], { description: 'Those in one state' })),
})

/** One notification of a job on its way to one receiver. */
export const DeliveryView = Type.Object(
  {
    id: Type.String({ description: 'The `webhook-id` of every attempt' }),
    jobId: Type.String(),
    event: Type.Enum([...DELIVERY_EVENTS]),
    channel: Type.Enum([...DELIVERY_CHANNELS]),
    receiver: Type.String({ description: 'The callback, the mail address, or the host that traps go to' }),
    state: Type.Enum([...DELIVERY_STATES], {
      description: 'OPEN is being tried, DELIVERED was taken, GIVEN_UP was refused for 24 hours',
    }),
    attempts: Type.Integer({ description: 'Attempts so far, those of repeats among them' }),
    lastStatus: Type.Optional(Type.Integer({ description: 'What HTTP or SMTP answered to the last attempt' })),
    lastError: Type.Optional(Type.String({ description: 'Why the last attempt was without success' })),
    createdDate: Type.String(),
    attemptedDate: Type.String({ description: 'Of the last attempt; empty before the first' }),
    finishedDate: Type.String({ description: 'When it was delivered or given up; empty while it is open' }),
  },
  { description: 'One notification of a job on its way to one receiver' },
)
export type DeliveryView = Static<typeof DeliveryView>

export const DeliveriesPage = Type.Object({ page: PageView, deliveries: Type.Array(DeliveryView) })
export type DeliveriesPage = Static<typeof DeliveriesPage>
