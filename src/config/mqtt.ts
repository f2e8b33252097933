/** What an operator may set of MQTT: the embedded broker, or a connection to another. */
import { row } from './row.ts'
import { longestMs, port, readableFile, text, trueOrFalse, url, wholeNumber } from './values.ts'

export const mqttVariables = {
  mqttPort: row('DROVER_MQTT_PORT', '1883', port, 'Port of the embedded MQTT broker; 0 takes a free one.'),
  mqttTlsCertFile: row(
    'DROVER_MQTT_TLS_CERT_FILE',
    null,
    readableFile,
    'Certificate (PEM, with its chain) of the embedded MQTT broker, which then speaks TLS only.',
  ),
  mqttTlsKeyFile: row('DROVER_MQTT_TLS_KEY_FILE', null, readableFile, 'Private key (PEM) of that certificate.'),
  mqttUrl: row(
    'DROVER_MQTT_URL',
    null,
    url('mqtt', 'mqtts', 'ws', 'wss'),
    'An MQTT broker to use instead of the embedded one.',
    {
      secret: true,
    },
  ),
  mqttCaFile: row(
    'DROVER_MQTT_CA_FILE',
    null,
    readableFile,
    'Certificates (PEM) of who signs that of the broker, trusted beside those of the system.',
  ),
  mqttClientId: row(
    'DROVER_MQTT_CLIENT_ID',
    null,
    text,
    'Name of this process at that broker, given to no other; made of host and port when unset.',
  ),
  mqttShared: row(
    'DROVER_MQTT_SHARED',
    'true',
    trueOrFalse,
    'Whether this process shares the messages of that broker with others. `false` for the only south behind a broker that does not keep shared subscriptions when it restarts.',
  ),
  mqttCallMs: row(
    'DROVER_MQTT_CALL_MS',
    '86400000',
    wholeNumber(60_000, longestMs),
    'How long a device that called through that broker counts as connected after it was last heard there.',
  ),
} as const
