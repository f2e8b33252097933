/** What an operator may set of notifications: callbacks, mail and SNMP traps. */
import { row } from './row.ts'
import {
  email,
  engineId,
  objectIdentifier,
  oneOf,
  pathSegment,
  port,
  text,
  textOfAtLeast,
  trueOrFalse,
  url,
} from './values.ts'

export const notificationVariables = {
  callbackAllowLoopback: row(
    'DROVER_CALLBACK_ALLOW_LOOPBACK',
    'false',
    trueOrFalse,
    'Whether callbacks, and the URLs that connector functions name, may go to loopback addresses.',
  ),
  callbackAllowLinkLocal: row(
    'DROVER_CALLBACK_ALLOW_LINK_LOCAL',
    'false',
    trueOrFalse,
    'Whether callbacks may go to link-local addresses and those of cloud metadata services.',
  ),
  callbackAllowHttps: row(
    'DROVER_CALLBACK_ALLOW_HTTPS',
    'false',
    trueOrFalse,
    'Whether callbacks may use HTTPS beside HTTP.',
  ),
  callbackSecret: row(
    'DROVER_CALLBACK_SECRET',
    null,
    textOfAtLeast(16),
    'Signs callbacks, after the Standard Webhooks convention.',
    {
      secret: true,
    },
  ),
  callbackStartedName: row(
    'DROVER_CALLBACK_STARTED_NAME',
    'jobStarted',
    pathSegment,
    'Last segment of the address told that a job started.',
  ),
  callbackFinishedName: row(
    'DROVER_CALLBACK_FINISHED_NAME',
    'jobFinished',
    pathSegment,
    'Last segment of the address told that a job finished.',
  ),
  smtpUrl: row(
    'DROVER_SMTP_URL',
    null,
    url('smtp', 'smtps'),
    'Mail server for the notifications of jobs; no mail when unset.',
    { secret: true },
  ),
  smtpFrom: row('DROVER_SMTP_FROM', 'drover@localhost', email, 'Sender of these mails.'),
  snmpTrapHost: row('DROVER_SNMP_TRAP_HOST', null, text, 'Receiver of the SNMP traps of jobs; no trap when unset.'),
  snmpTrapPort: row('DROVER_SNMP_TRAP_PORT', '162', port, 'Port of that receiver.'),
  snmpTrapVersion: row('DROVER_SNMP_TRAP_VERSION', '2c', oneOf('2c', '3'), 'Version of SNMP of these traps.'),
  snmpTrapCommunity: row(
    'DROVER_SNMP_TRAP_COMMUNITY',
    'public',
    textOfAtLeast(1),
    'Community of these traps in version 2c.',
    { secret: true },
  ),
  snmpTrapUser: row('DROVER_SNMP_TRAP_USER', null, text, 'User of these traps in version 3.'),
  snmpTrapAuthProtocol: row(
    'DROVER_SNMP_TRAP_AUTH_PROTOCOL',
    'sha256',
    oneOf('md5', 'sha', 'sha224', 'sha256', 'sha384', 'sha512'),
    'How these traps are signed in version 3.',
  ),
  snmpTrapAuthKey: row(
    'DROVER_SNMP_TRAP_AUTH_KEY',
    null,
    textOfAtLeast(8),
    'Password that signs these traps in version 3; not signed when unset.',
    { secret: true },
  ),
  snmpTrapPrivProtocol: row(
    'DROVER_SNMP_TRAP_PRIV_PROTOCOL',
    'aes',
    oneOf('des', 'aes', 'aes256b', 'aes256r'),
    'How these traps are encrypted in version 3; AES-256 with the key extension of Blumenthal or Reeder.',
  ),
  snmpTrapPrivKey: row(
    'DROVER_SNMP_TRAP_PRIV_KEY',
    null,
    textOfAtLeast(8),
    'Password that encrypts these traps in version 3; not encrypted when unset.',
    { secret: true },
  ),
  snmpTrapEngineId: row(
    'DROVER_SNMP_TRAP_ENGINE_ID',
    '80001f880464726f766572',
    engineId,
    'Engine of these traps in version 3, in hexadecimal digits; the receiver must know it.',
  ),
  snmpTrapOid: row(
    'DROVER_SNMP_TRAP_OID',
    '1.3.6.1.4.1.8072.9999.9999',
    objectIdentifier,
    'Object identifier under which the trap and its objects are numbered.',
  ),
} as const
