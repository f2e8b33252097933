/** A page of the documents as tests hold it to the code: its words, its sections and its tables. */
import { readFile } from 'node:fs/promises'
import path from 'node:path'

export interface Page {
  /** every word of it, in one line */
  readonly words: string
  /** The cells of the first table under a heading, row by row, without its head. Fails where there is none. */
  table(heading: string): string[][]
}

/** Reads a page by its name under `docs`. */
export async function readPage(name: string): Promise<Page> {
  const text = await readFile(path.resolve(import.meta.dirname, '../../docs', name), 'utf8')
  return {
    words: text.replace(/\s+/g, ' '),
    table(heading) {
      const [, section] = text.split(new RegExp(`^#+ ${heading.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')}$`, 'm'))
      const rows = /(?:^\|.*\n)+/m
        .exec(section ?? '')?.[0]
        .trim()
        .split('\n')
        .slice(2)
      if (!rows) throw new Error(`${name} has no table under ${heading}`)
      return rows.map(row =>
        row
          .slice(1, -1)
          .split('|')
          .map(cell => cell.trim()),
      )
    },
  }
}

/** What stands in backticks, in its order. */
export const codeIn = (text: string): string[] => [...text.matchAll(/`([^`]+)`/g)].map(([, code]) => code!)
