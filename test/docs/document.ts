/**
 * Reads the blocks of a document, and runs its commands as a reader would: one after the other, in one shell, against a service.
 *
 * A block fenced `sh` is run. A block fenced `text` or `json` that directly follows it is what it prints; `…` stands for anything.
 * A block under `<!-- shown by FILE: WORDS -->` is run or held by that file instead, where these words stand: the sentence of a test. One
 * under a line `*Not run by tests: …*`, which readers see, is run by nobody.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'

export interface Block {
  readonly line: number
  /** what it is fenced as; empty where it is bare */
  readonly language: string
  readonly body: string
  /** the file that runs it instead, and the words in it that say so */
  readonly shownBy: { readonly file: string; readonly words: string } | null
  /** whether the document says that nobody runs it */
  readonly isNotRun: boolean
  /** whether it is what the commands before it print */
  readonly isOutput: boolean
}

/** Commands that are run where the document stands. */
export interface Commands extends Block {
  /** what they print; null where the document does not say */
  readonly prints: string | null
}

const FENCE =
  /(?:<!-- shown by (?<file>[^\s:]+): (?<words>.+?) -->\s*|(?<notRun>^\*Not run by tests: .+\*$)\n\n)?^```(?<language>\w*)\n(?<body>.*?)^```$/gms

/** The blocks of a document, in its order. */
export function blocksOf(markdown: string): Block[] {
  let [end, language] = [-1, '']
  return [...markdown.matchAll(FENCE)].map(fence => {
    const { file, words, notRun, body = '' } = fence.groups!
    const follows = end >= 0 && markdown.slice(end, fence.index).trim() === '' && language === 'sh'
    language = fence.groups!.language!
    end = fence.index + fence[0].length
    return {
      line: markdown.slice(0, end).split('\n').length - body.split('\n').length,
      language,
      body,
      shownBy: file === undefined ? null : { file, words: words!.replace(/\s+/g, ' ') },
      isNotRun: notRun !== undefined,
      isOutput: follows && /^(text|json)$/.test(language),
    }
  })
}

/** The blocks that are run here. */
export function commandsOf(markdown: string): Commands[] {
  const blocks = blocksOf(markdown)
  return blocks.flatMap((block, at) => {
    if (block.language !== 'sh' || block.shownBy !== null || block.isNotRun) return []
    const next = blocks[at + 1]
    return [{ ...block, prints: next?.isOutput ? next.body : null }]
  })
}

export interface Output {
  readonly code: number | null
  /** what each block printed, as far as it came */
  readonly printed: readonly string[]
  readonly stderr: string
}

/** Runs blocks in one shell that ends at the first command that fails; all that it started is killed with it. */
export async function runBlocks(
  blocks: readonly Commands[],
  options: { cwd: string; env: Record<string, string>; timeoutMs: number },
): Promise<Output> {
  const script = blocks.map(({ body }) => `${body}\nprintf '\\036'\n`).join('')
  const shell = spawn('bash', ['-eu', '-o', 'pipefail', '-c', script], {
    cwd: options.cwd,
    env: { ...process.env, ...options.env },
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const killAll = () => {
    try {
      process.kill(-shell.pid!, 'SIGKILL')
    } catch {
      // the whole group has ended by itself
    }
  }
  const timer = setTimeout(killAll, options.timeoutMs)
  let [stdout, stderr] = ['', '']
  shell.stdout.setEncoding('utf8').on('data', text => {
    stdout += text
  })
  shell.stderr.setEncoding('utf8').on('data', text => {
    stderr += text
  })
  const [code] = (await once(shell, 'exit')) as [number | null]
  clearTimeout(timer)
  killAll()
  await Promise.all([shell.stdout, shell.stderr].map(each => each.closed || once(each, 'close')))
  return { code, printed: stdout.split('\u001e'), stderr }
}

/** What a document says is printed, as an expression: `…` matches anything, space at the ends does not count. */
export function asExpression(prints: string): RegExp {
  const parts = prints
    .trim()
    .split('…')
    .map(part => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'))
  return new RegExp(`^\\s*${parts.join('[^]*?')}\\s*$`)
}
