/** The log of a process. Keys, passwords and tokens never reach it, whoever logs them by mistake. */
import { type DestinationStream, type Logger, pino } from 'pino'

/** Members whose value is never written, up to three levels deep. */
const SECRETS = [
  'password',
  'apiKey',
  'jwt',
  'token',
  'secret',
  'authorization',
  '["x-apikey"]',
  '["x-apipass"]',
  'cookie',
]
const DEPTHS = ['', '*', '*.*']

function redacted(): string[] {
  const joined = (depth: string, name: string) =>
    name.startsWith('[') || depth === '' ? `${depth}${name}` : `${depth}.${name}`
  return DEPTHS.flatMap(depth => SECRETS.map(name => joined(depth, name)))
}

interface LoggedRequest {
  readonly id?: unknown
  readonly method?: unknown
  readonly url?: unknown
  readonly ip?: unknown
}

/** Of a request its method and its path: a query string may hold a key, headers do. */
function requestLine({ id, method, url, ip }: LoggedRequest) {
  return { id, method, path: typeof url === 'string' ? url.split('?')[0] : undefined, address: ip }
}

/** Makes the log; it writes to the standard output unless told. */
export function createLog(level: string, destination?: DestinationStream): Logger {
  const options = { level, redact: { paths: redacted(), censor: '***' }, serializers: { req: requestLine } }
  return destination ? pino(options, destination) : pino(options)
}
