/**
 * Reads the commands of a document and runs them as a reader would: one after the other, in one shell, against a service.
 *
 * A block fenced `sh` is run. A block fenced `text` or `json` that directly follows it is what it prints; `…` stands for anything.
 * A block under `<!-- shown by FILE -->` is run by that test instead.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'

export interface Block {
  readonly line: number
  readonly commands: string
  /** what it prints; null where the document does not say */
  readonly prints: string | null
  /** the test that runs it instead; null where it is run here */
  readonly shownBy: string | null
}

const FENCE = /(?:<!-- shown by (?<shownBy>\S+) -->\s*)?^```(?<language>\w+)\n(?<body>.*?)^```$/gms

/** The blocks of commands in a document, in its order. */
export function commandBlocks(markdown: string): Block[] {
  const fences = [...markdown.matchAll(FENCE)]
  return fences.flatMap((fence, index) => {
    const { language, body, shownBy } = fence.groups!
    if (language !== 'sh') return []
    const next = fences[index + 1]
    const follows = next !== undefined && markdown.slice(fence.index + fence[0].length, next.index).trim() === ''
    return {
      line: markdown.slice(0, fence.index).split('\n').length,
      commands: body!,
      prints: follows && /^(text|json)$/.test(next.groups!.language!) ? next.groups!.body! : null,
      shownBy: shownBy ?? null,
    }
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
  blocks: readonly Block[],
  options: { cwd: string; env: Record<string, string>; timeoutMs: number },
): Promise<Output> {
  const script = blocks.map(({ commands }) => `${commands}\nprintf '\\036'\n`).join('')
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
