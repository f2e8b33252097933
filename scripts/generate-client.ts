/**
 * Writes the types of the client interface from what the service describes of itself, or with `--check` holds the file to it. It asks
 * no running service.
 */
import { readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { clientTypes } from './client-types.ts'
import { contractSchemas } from './contract-schemas.ts'
import { interfaceDocument } from './interface-document.ts'

const file = path.resolve(import.meta.dirname, '../src/contract/client/generated/north.ts')
const present = clientTypes(await interfaceDocument(), await contractSchemas())

if (!process.argv.includes('--check')) await writeFile(file, present)
else if ((await readFile(file, 'utf8')) !== present) {
  process.stderr.write('The interface has changed: run `npm run generate:client` and commit what it writes.\n')
  process.exitCode = 1
}
