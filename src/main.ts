/** The process: reads its configuration, starts the service, and stops it in order when told to. */
import { enableCompileCache } from 'node:module'
import path from 'node:path'
import type { Logger } from 'pino'
import type { Service } from './service/service.ts'

// What was compiled once is read from beside the packages, where only those who install may write: half of the time before the start.
enableCompileCache(path.join(import.meta.dirname, '..', 'node_modules', '.cache', 'drover'))
const { ConfigError, configurationWarnings, readConfig, unknownVariables } = await import('./config/config.ts')
const { createLog } = await import('./telemetry/log.ts')
const { startService } = await import('./service/service.ts')

try {
  const config = readConfig(process.env)
  const log = createLog(config.logLevel)
  for (const name of unknownVariables(process.env)) log.warn({ name }, 'this variable is not known and changes nothing')
  for (const warning of configurationWarnings(config)) log.warn(warning)
  const service = await startService({
    config,
    log,
    tell: (credentials, consoleUrl) => {
      const signIn = consoleUrl === null ? '' : `Sign in with them at ${consoleUrl}\n\n`
      // Not by the log, which others may keep: these are shown once.
      process.stdout.write(
        `\nFirst start. Keep these credentials, they are not shown again:\n${JSON.stringify(credentials, null, 2)}\n\n${signIn}`,
      )
    },
    onFailure: error => {
      log.fatal({ err: error }, 'the embedded database is lost')
      process.exit(1)
    },
  })
  // Before it says so: whoever waits for that word may stop it at once.
  stopOnSignals(service, log)
  log.info({ url: service.url, mqttPort: service.mqttPort, roles: config.roles }, 'ready')
} catch (error) {
  const [{ operatorFailure }, { EXIT }] = await Promise.all([
    import('./operator-failure.ts'),
    import('./cli/frame/exit-codes.ts'),
  ])
  const { kind, told } = operatorFailure(error)
  const words = told instanceof Error ? told.message : String(told)
  process.stderr.write(error instanceof ConfigError ? `${words}\n` : `drover cannot start: ${words}\n`)
  process.exit(EXIT[kind])
}

/** The first signal stops in order, the second at once. */
function stopOnSignals(service: Service, log: Logger): void {
  let signals = 0
  const onSignal = (signal: NodeJS.Signals) => {
    signals += 1
    if (signals > 1) process.exit(130)
    log.info({ signal }, 'stopping')
    service.stop().then(
      () => {
        log.info('stopped')
        process.exit(0)
      },
      () => process.exit(1),
    )
  }
  process.on('SIGTERM', onSignal)
  process.on('SIGINT', onSignal)
}
