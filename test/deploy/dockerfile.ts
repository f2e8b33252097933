/** What a Dockerfile says, as tests read it: word and argument, continued lines as one. */
export function instructionsOf(dockerfile: string): (readonly [word: string, argument: string])[] {
  return dockerfile
    .replaceAll('\\\n', ' ')
    .split('\n')
    .filter(line => /^[A-Z]+ /.test(line.trim()))
    .map(line => [line.split(' ')[0]!, line.slice(line.indexOf(' ') + 1).trim()] as const)
}
