/** Whether packages can be had where the tests run: what installs some is left out, with a printed word, where not. */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

const REGISTRY_MS = 20_000

export async function registryAnswers(): Promise<boolean> {
  return await promisify(execFile)('npm', ['view', 'commander', 'name'], { timeout: REGISTRY_MS }).then(
    () => true,
    () => false,
  )
}
