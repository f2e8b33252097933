/**
 * `drover completion`: what a shell needs to complete commands and options, made from the tree. A shell asks nobody while it completes:
 * everything stands in the script.
 */
import type { Command } from 'commander'
import { command } from '../frame/command.ts'
import { CommandFailed } from '../frame/exit-codes.ts'
import type { Surroundings } from '../frame/surroundings.ts'

const SHELLS = ['bash', 'zsh', 'fish'] as const

/** The command. */
export function completionCommand(surroundings: Surroundings): Command {
  const made: Command = command(
    surroundings,
    {
      usage: 'completion <shell>',
      description: `print the completion of a shell: ${SHELLS.join(', ')}`,
      examples: [
        { meaning: 'for this bash', line: 'source <(drover completion bash)' },
        { meaning: 'for every zsh to come', line: 'drover completion zsh > "$HOME/_drover"' },
        { meaning: 'for every fish to come', line: 'drover completion fish > "$HOME/drover.fish"' },
      ],
      service: false,
    },
    async ({ out }, shell) => {
      const program = made.parent
      if (!program) return 'failed'
      const nodes = nodesOf(program, [])
      const script = { bash: bashScript, zsh: zshScript, fish: fishScript }[shell ?? '']
      if (!script) throw new CommandFailed('usage', `The shell is one of ${SHELLS.join(', ')}.`)
      await out.write(script(nodes))
      return undefined
    },
  )
  return made
}

interface Word {
  readonly word: string
  readonly meaning: string
}

interface Node {
  /** the words that lead to the command, without `drover` */
  readonly path: readonly string[]
  readonly commands: readonly Word[]
  readonly options: readonly (Word & { readonly takesValue: boolean })[]
}

function nodesOf(made: Command, path: readonly string[]): Node[] {
  const commands = made.commands.map(each => ({ word: each.name(), meaning: each.description() }))
  const options = made.options
    .filter(({ hidden, long }) => !hidden && long)
    .map(({ long, description, required }) => ({ word: long!, meaning: description, takesValue: required }))
  return [
    {
      path,
      commands,
      options: [...options, { word: '--help', meaning: 'display help for command', takesValue: false }],
    },
    ...made.commands.flatMap(each => nodesOf(each, [...path, each.name()])),
  ]
}

/** The cases of a shell's `case` over the path of commands so far. */
function cases(nodes: readonly Node[]): string {
  return nodes
    .map(({ path, commands, options }) => {
      const words = [...commands, ...options].map(({ word }) => word).join(' ')
      return `    '${path.join(' ')}') words='${words}' ;;`
    })
    .join('\n')
}

/** The words that are commands, by which the path so far is told from arguments. */
function pathCases(nodes: readonly Node[]): string {
  const paths = nodes.filter(({ path }) => path.length > 0).map(({ path }) => `'${path.join(' ')}'`)
  return `      ${paths.join('|')}) path="$next" ;;`
}

function bashScript(nodes: readonly Node[]): string {
  return `# bash completion of drover; made by \`drover completion bash\`
_drover() {
  local current="\${COMP_WORDS[COMP_CWORD]}" path='' next words='' at
  for ((at = 1; at < COMP_CWORD; at++)); do
    next="\${path:+$path }\${COMP_WORDS[at]}"
    case "$next" in
${pathCases(nodes)}
    esac
  done
  case "$path" in
${cases(nodes)}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -o default -F _drover drover
`
}

function zshScript(nodes: readonly Node[]): string {
  return `#compdef drover
# zsh completion of drover; made by \`drover completion zsh\`
_drover() {
  local path_so_far='' next words_here='' at
  for ((at = 2; at < CURRENT; at++)); do
    next="\${path_so_far:+$path_so_far }\${words[at]}"
    case "$next" in
${pathCases(nodes).replace('path="$next"', 'path_so_far="$next"')}
    esac
  done
  case "$path_so_far" in
${cases(nodes).replaceAll(") words='", ") words_here='")}
  esac
  compadd -- \${=words_here}
  _files
}
if [ "$funcstack[1]" = "_drover" ]; then _drover "$@"; else compdef _drover drover; fi
`
}

const fishText = (text: string) => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`

function fishScript(nodes: readonly Node[]): string {
  const lines = nodes.flatMap(({ path, commands, options }) => {
    const here = `-n ${fishText(`__drover_at ${path.join(' ')}`.trim())}`
    return [
      ...commands.map(({ word, meaning }) => `complete -c drover -f ${here} -a ${word} -d ${fishText(meaning)}`),
      ...options.map(
        ({ word, meaning, takesValue }) =>
          `complete -c drover ${here} -l ${word.slice(2)}${takesValue ? ' -r' : ''} -d ${fishText(meaning)}`,
      ),
    ]
  })
  const paths = nodes.filter(({ path }) => path.length > 0).map(({ path }) => fishText(path.join(' ')))
  return `# fish completion of drover; made by \`drover completion fish\`
function __drover_at
    set -l path
    for word in (commandline -opc)[2..-1]
        set -l next (string join ' ' $path $word)
        contains -- $next ${paths.join(' ')}; and set path (string split ' ' $next)
    end
    test "$path" = "$argv"
end
${lines.join('\n')}
`
}
