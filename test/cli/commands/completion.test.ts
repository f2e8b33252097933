/** The completions, asked in their own shells; a shell that is not there is left out with a word. */
import { execFile, spawnSync } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, test } from 'vitest'
import { openCommandLine } from '../command-line.ts'

const run = promisify(execFile)
const cli = await openCommandLine()

/** What a shell does to complete the words so far, the last of them begun. */
const ASKED: Record<string, (script: string, words: readonly string[]) => string> = {
  bash: (script, words) =>
    `source ${script}; COMP_WORDS=(${words.map(word => `'${word}'`).join(' ')}); COMP_CWORD=${words.length - 1}; _drover; printf '%s\\n' "\${COMPREPLY[@]}"`,
  // Outside of a completion there is no list to add to: what would be added is printed.
  zsh: (script, words) =>
    `compdef() {}; source ${script}; _files() {}; compadd() { shift; print -l -- \${(M)@:#${words.at(-1)}*} }; words=(${words.map(word => `'${word}'`).join(' ')}); CURRENT=${words.length}; _drover`,
  fish: (script, words) => `source ${script}; complete -C '${words.join(' ')}' | string replace -r '\\t.*' ''`,
}

async function completed(shell: string, ...words: string[]): Promise<string[]> {
  const { stdout } = await cli.run(['completion', shell])
  const script = path.join(cli.home, `drover.${shell}`)
  await writeFile(script, stdout)
  const flags = shell === 'zsh' ? ['-f'] : []
  const { stdout: told, stderr } = await run(shell, [...flags, '-c', ASKED[shell]!(script, words)], {
    env: { ...process.env, HOME: cli.home, XDG_CONFIG_HOME: cli.home },
  })
  expect(stderr).toBe('')
  return told.split('\n').filter(word => word !== '')
}

describe.each(Object.keys(ASKED))('%s', shell => {
  const missing = spawnSync(shell, ['--version']).error !== undefined
  if (missing) process.stdout.write(`No ${shell} is there: its completion is left out.\n`)

  test.skipIf(missing)('completes commands, those within them, and their options', async () => {
    expect((await completed(shell, 'drover', 'de')).sort()).toEqual(['deliveries', 'demo', 'devices'])
    expect((await completed(shell, 'drover', 'jobs', 'r')).sort()).toEqual(['resume', 'retry', 'run'])
    expect(await completed(shell, 'drover', 'jobs', 'list', '--sta')).toEqual(['--status'])
    expect((await completed(shell, 'drover', 'simulate', '--pull')).sort()).toEqual([
      '--pull-concurrency',
      '--pull-wait',
    ])
    expect(await completed(shell, 'drover', 'jobs', 'show', '0196c0a4b1e00801', '--js')).toEqual(['--json'])
  })
})

test('another shell is refused by name', async () => {
  const { code, stderr } = await cli.run(['completion', 'tcsh'])
  expect([code, stderr]).toEqual([2, 'drover: The shell is one of bash, zsh, fish.\n'])
})
