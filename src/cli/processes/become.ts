/** Some commands are another entry of this package: they hand it their streams, their signals and their end. */
import { spawn } from 'node:child_process'
import { EXIT, type ExitName } from '../frame/exit-codes.ts'
import { entry, serviceNode } from './entries.ts'

/** Runs another entry with the same streams; signals reach it as they come. Answers how it ended. */
export async function become(
  name: string,
  args: readonly string[],
  env: NodeJS.ProcessEnv,
  flags: readonly string[] = [],
): Promise<ExitName> {
  const child = spawn(serviceNode(), [...flags, entry(name), ...args], { stdio: 'inherit', env })
  // A terminal interrupts the whole group; what only reaches this process is passed on.
  const pass = (signal: NodeJS.Signals) => child.kill(signal)
  const stay = () => {}
  process.on('SIGTERM', pass).on('SIGINT', stay)
  try {
    const code = await new Promise<number>((resolve, reject) => {
      child.once('error', reject)
      child.once('exit', (status, signal) => resolve(signal ? EXIT.interrupted : (status ?? EXIT.failed)))
    })
    return (Object.keys(EXIT) as ExitName[]).find(each => EXIT[each] === code) ?? 'failed'
  } finally {
    process.off('SIGTERM', pass).off('SIGINT', stay)
  }
}
