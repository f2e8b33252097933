/**
 * Mails the end of a job to its user, over the mail server of the operator. It sends plain text and nothing that the server was not asked
 * to take. Serves: Job request (`notify`).
 */
import { createTransport } from 'nodemailer'
import type { DeliveryOutcome, JobNotice } from '../domain/delivery.ts'
import type { DeliveryMessage, SendDelivery } from '../engine/connector.ts'
import { withinAttempt } from './attempt.ts'

export interface MailOptions {
  /** `smtp://user:password@host:587`; `smtps://` for TLS from the first byte */
  readonly url: string
  readonly from: string
  /** for all of an attempt */
  readonly attemptMs?: number
}

export interface MailConnector {
  readonly send: SendDelivery
  /** Ends the connections that are kept. */
  close(): void
}

/** Makes the connector of the channel `mail`. Certificates are verified wherever the server offers TLS. */
export function createMailConnector({ url, from, attemptMs = 30_000 }: MailOptions): MailConnector {
  const transport = createTransport({
    url,
    pool: true,
    maxConnections: 2,
    connectionTimeout: attemptMs,
    greetingTimeout: attemptMs,
    socketTimeout: attemptMs,
    disableFileAccess: true,
    disableUrlAccess: true,
  })

  async function send(message: DeliveryMessage, stopping: AbortSignal): Promise<DeliveryOutcome> {
    const notice = JSON.parse(message.body) as JobNotice
    try {
      const sending = transport.sendMail({
        from,
        // An address that holds a comma must not become two.
        to: { name: '', address: message.receiver },
        subject: `Job ${notice.name}: ${notice.summary.status}`,
        text: textOf(notice),
        date: message.at,
        messageId: `<${message.id}@drover>`,
        headers: { 'auto-submitted': 'auto-generated' },
      })
      await withinAttempt(sending, attemptMs, stopping)
      return { taken: true }
    } catch (error) {
      const { responseCode, message: reason } = error as { responseCode?: unknown; message?: unknown }
      const status = typeof responseCode === 'number' ? { status: responseCode } : {}
      return { taken: false, ...status, error: `the mail was not taken: ${String(reason)}` }
    }
  }

  return { send, close: () => transport.close() }
}

/** The mail's text: what a person wants to know, one fact a line. */
function textOf({ id, name, user, userNotes, execution, summary }: JobNotice): string {
  const { finished } = summary
  const lines = [
    `The job ${name} ended as ${summary.status}.`,
    '',
    `operations: ${summary.total}`,
    `successful: ${finished.successful}`,
    `with error: ${finished.error}`,
    `cancelled:  ${finished.cancelled.total}`,
    '',
    `started:    ${execution.startedDate || 'never'}`,
    `finished:   ${execution.finishedDate}`,
    `made by:    ${user}`,
    `job id:     ${id}`,
    ...(summary.errorDescription ? ['', `${summary.errorDescription} (${summary.errorCode})`] : []),
    ...(userNotes ? ['', userNotes] : []),
  ]
  return `${lines.join('\n')}\n`
}
