/** The schemas that the contract exports, by name, so that generated types carry the contract's own words. */
import { readdir } from 'node:fs/promises'
import path from 'node:path'
import type { Schema } from './types-of-schema.ts'

const folder = path.resolve(import.meta.dirname, '../src/contract')

/** Every exported schema of an object or a union; of two with one shape, the first by name counts. */
export async function contractSchemas(): Promise<Map<string, Schema>> {
  const files = (await readdir(folder)).filter(file => file.endsWith('.ts')).sort()
  const found: [string, Schema][] = []
  for (const file of files) {
    const exported: Record<string, unknown> = await import(path.join(folder, file))
    for (const [name, value] of Object.entries(exported)) if (isSchema(value)) found.push([name, value])
  }
  return new Map(found.sort(([a], [b]) => (a < b ? -1 : 1)))
}

/** One with members of its own: an open record has nothing to tell it apart by. */
function isSchema(value: unknown): value is Schema {
  return typeof value === 'object' && value !== null && ('anyOf' in value || 'properties' in value)
}
