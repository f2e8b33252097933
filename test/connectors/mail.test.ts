import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { SMTPServer, type SMTPServerOptions } from 'smtp-server'
import { describe, expect, onTestFinished, test } from 'vitest'
import { createMailConnector, type MailOptions } from '../../src/connectors/mail.ts'
import { noticeMessage } from '../job-notice.ts'

interface HeardMail {
  from: string
  to: string[]
  text: string
}

const withoutTls = ['STARTTLS', 'AUTH']
const never = new AbortController().signal

/** A mail server on loopback, and the connector to it. */
async function mailServer(options: SMTPServerOptions = {}, more: Partial<MailOptions> = {}, login = '') {
  const heard: HeardMail[] = []
  const server = new SMTPServer({
    disabledCommands: withoutTls,
    authOptional: true,
    onData(stream, session, done) {
      void text(stream).then(body => {
        const { mailFrom, rcptTo } = session.envelope
        heard.push({ from: mailFrom ? mailFrom.address : '', to: rcptTo.map(({ address }) => address), text: body })
        done()
      })
    },
    ...options,
  })
  server.on('error', () => {})
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.server.address() as AddressInfo
  const connector = createMailConnector({
    url: `smtp://${login}127.0.0.1:${port}`,
    from: 'drover@example.com',
    ...more,
  })
  onTestFinished(() => {
    connector.close()
    server.close()
  })
  return { heard, connector }
}

const toAnn = noticeMessage({ receiver: 'ann@example.com' })

describe('the mail at the end of a job', () => {
  test('goes to its user and says how the job ended, in plain text', async () => {
    const { heard, connector } = await mailServer()
    expect(await connector.send(toAnn, never)).toEqual({ taken: true })
    expect(heard).toHaveLength(1)
    expect(heard[0]).toMatchObject({ from: 'drover@example.com', to: ['ann@example.com'] })
    const mail = heard[0]?.text ?? ''
    expect(mail).toContain('Subject: Job REBOOT_EQUIPMENT: FINISHED_WITH_ERRORS\r\n')
    expect(mail).toContain('Content-Type: text/plain')
    expect(mail).toContain('Date: Sun, 01 Mar 2026 10:05:01')
    for (const line of [
      'operations: 10',
      'successful: 7',
      'with error: 2',
      'cancelled:  1',
      'finished:   2026-03-01T10:05:00.000Z',
      'job id:     0123456789abcdef',
      'ERROR_PROCESSING: 2, CANCELLED: 1 (0x020012)',
      'at night',
    ]) {
      expect(mail).toContain(`${line}\r\n`)
    }
  })

  test('has the same message id at every attempt, so that a repeat can be recognised', async () => {
    const { heard, connector } = await mailServer()
    await connector.send(toAnn, never)
    await connector.send({ ...toAnn, at: new Date('2026-03-01T11:00:00Z') }, never)
    const ids = heard.map(mail => /^Message-ID: (.*)\r$/m.exec(mail.text)?.[1])
    expect(ids).toEqual(Array(2).fill('<01234567-89ab-8cde-8f10-000000000000@drover>'))
  })

  test('logs in where the address of the server says so', async () => {
    const { heard, connector } = await mailServer(
      {
        authOptional: false,
        disabledCommands: ['STARTTLS'],
        allowInsecureAuth: true,
        onAuth: ({ username, password }, _session, done) =>
          username === 'me' && password === 'p@ss' ? done(null, { user: 'me' }) : done(new Error('no')),
      },
      {},
      'me:p%40ss@',
    )
    expect(await connector.send(toAnn, never)).toEqual({ taken: true })
    expect(heard).toHaveLength(1)
  })

  test('reaches one address only, and no header of its making, whatever the names hold', async () => {
    const { heard, connector } = await mailServer()
    const body = toAnn.body.replace('REBOOT_EQUIPMENT', 'A\\r\\nBcc: eve@example.com')
    await connector.send({ ...toAnn, body, receiver: 'ann@example.com' }, never)
    expect(heard[0]?.to).toEqual(['ann@example.com'])
    expect(heard[0]?.text.split('\r\n\r\n')[0]).not.toMatch(/^Bcc:/im)
    await connector.send({ ...toAnn, receiver: 'ann@example.com, eve@example.com' }, never)
    expect(heard.flatMap(({ to }) => to)).not.toContain('eve@example.com')
  })

  test('that the server refuses is refused with its status', async () => {
    const { connector } = await mailServer({
      onRcptTo: (_address, _session, done) => done(Object.assign(new Error('no such user'), { responseCode: 550 })),
    })
    expect(await connector.send(toAnn, never)).toMatchObject({
      taken: false,
      status: 550,
      error: expect.stringContaining('no such user'),
    })
  })

  test('does not go over a TLS that cannot be trusted', async () => {
    const { heard, connector } = await mailServer({ disabledCommands: ['AUTH'] })
    expect(await connector.send(toAnn, never)).toMatchObject({
      taken: false,
      error: expect.stringMatching(/certificate/i),
    })
    expect(heard).toEqual([])
  })

  test('is refused in time by a server that is silent or away, and at once when the service stops', async () => {
    const silent = { onMailFrom: () => {} }
    const { connector } = await mailServer(silent, { attemptMs: 100 })
    expect(await connector.send(toAnn, never)).toMatchObject({ taken: false })
    const patient = await mailServer(silent)
    const stopping = new AbortController()
    const stopped = patient.connector.send(toAnn, stopping.signal)
    stopping.abort()
    expect(await stopped).toEqual({ taken: false, error: 'the mail was not taken: the service stopped' })
    const nowhere = createMailConnector({ url: 'smtp://127.0.0.1:1', from: 'drover@example.com' })
    expect(await nowhere.send(toAnn, never)).toMatchObject({
      taken: false,
      error: expect.stringContaining('ECONNREFUSED'),
    })
    nowhere.close()
  })
})
