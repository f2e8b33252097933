/** The reference of the command line, and what the tree of commands must have. */
import { existsSync } from 'node:fs'
import path from 'node:path'
import type { Command } from 'commander'
import { describe, expect, test } from 'vitest'
import { commandLinePage } from '../../scripts/command-line-page.ts'
import { examplesOf } from '../../src/cli/frame/command.ts'
import { processSurroundings } from '../../src/cli/frame/surroundings.ts'
import { createProgram, forAll } from '../../src/cli/program.ts'
import { openCommandLine } from './command-line.ts'

const page = path.join(import.meta.dirname, '..', '..', 'docs', 'reference', 'command-line.md')
const cli = await openCommandLine()

const leaves: { path: string[]; command: Command }[] = []
forAll(createProgram(processSurroundings()), command => {
  const names: string[] = []
  for (let at: Command | null = command; at?.parent; at = at.parent) names.unshift(at.name())
  if (command.commands.length === 0) leaves.push({ path: names, command })
})

test('the reference of the command line is what the tree of commands prints', async () => {
  await expect(commandLinePage()).toMatchFileSnapshot(page)
})

test('what follows `drover` lives in the file of that name', () => {
  const folder = path.join(import.meta.dirname, '../../src/cli/commands')
  const words = [...new Set(leaves.map(({ path: [word] }) => word!))]
  const homeless = words.filter(
    word => !existsSync(path.join(folder, `${word}.ts`)) && !existsSync(path.join(folder, word, `${word}.ts`)),
  )
  expect(homeless).toEqual([])
  expect(words.length).toBeGreaterThan(15)
})

describe('every command', () => {
  test('has a description, and examples of itself', () => {
    const wanting = leaves.filter(
      ({ path: names, command }) =>
        command.description() === '' ||
        examplesOf(command).length === 0 ||
        examplesOf(command).some(({ line }) => !line.includes(`drover ${names.join(' ')}`)),
    )
    expect(wanting.map(({ path: names }) => names.join(' '))).toEqual([])
    expect(leaves.length).toBeGreaterThan(30)
  })

  test('shows its examples in its help', async () => {
    for (const { path: names, command } of leaves) {
      const { code, stdout } = await cli.run([...names, '--help'])
      expect([code, names]).toEqual([0, names])
      for (const { line } of examplesOf(command)) expect(stdout).toContain(line)
    }
  })
})
