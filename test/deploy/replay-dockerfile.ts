/**
 * Does what the Dockerfile says, line by line, where there is no container engine: `node test/deploy/replay-dockerfile.ts`. Each stage has
 * the root of this machine under a layer of its own, with this Node and the user that the base image brings; the last one is started as
 * its user, asked by its health check, and stopped. It takes root, Linux and the registry; nothing of it stays. It is no image: what the
 * base image itself holds is not tried.
 */
import { spawnSync } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { instructionsOf } from './dockerfile.ts'

const context = path.resolve(import.meta.dirname, '../..')

interface Stage {
  readonly root: string
  readonly variables: Record<string, string>
  folder: string
  user: string
  check: string
  command: string
}

/** Where this machine trusts the registry by certificates of its own. */
const { NODE_EXTRA_CA_CERTS } = process.env
const CERTIFICATES = NODE_EXTRA_CA_CERTS === undefined ? {} : { NODE_EXTRA_CA_CERTS }

const quoted = (text: string) => `'${text.replaceAll("'", "'\\''")}'`
const asWords = (json: string) => (JSON.parse(json) as string[]).map(quoted).join(' ')

/** The script of a shell that does it. `work` is an empty folder. */
async function script(work: string): Promise<string> {
  const lines = ['set -e', `mount -t tmpfs tmpfs ${work}`]
  const stages = new Map<string, Stage>()
  let stage: Stage | undefined
  const within = (line: string, user = 'root') => {
    const { root, variables, folder } = stage!
    const env = { PATH: '/usr/local/bin:/usr/bin:/bin', HOME: '/tmp', ...CERTIFICATES, ...variables }
    const given = Object.entries(env)
      .map(([name, value]) => quoted(`${name}=${value}`))
      .join(' ')
    return `chroot --userspec=${user} ${root} env -i ${given} sh -c ${quoted(`cd ${folder} && ${line}`)}`
  }
  const ignored = (await readFile(path.join(context, '.dockerignore'), 'utf8')).split('\n').filter(each => each !== '')
  const excluded = ignored
    .map(each => `--exclude=${quoted(each.startsWith('**/') ? each.slice(3) : `./${each}`)}`)
    .join(' ')
  lines.push(`mkdir ${work}/context && tar -C ${quoted(context)} ${excluded} -cf - . | tar -C ${work}/context -xf -`)
  for (const [word, argument] of instructionsOf(await readFile(path.join(context, 'Dockerfile'), 'utf8'))) {
    lines.push(`echo ${quoted(`== ${word} ${argument}`)}`)
    if (word === 'FROM') {
      const place = path.join(work, `stage-${stages.size}`)
      stage = { root: `${place}/root`, variables: {}, folder: '/', user: 'root', check: '', command: '' }
      stages.set(/ AS (\w+)$/.exec(argument)?.[1] ?? '', stage)
      lines.push(
        `mkdir -p ${place}/upper ${place}/work ${place}/root`,
        `mount -t overlay overlay -o lowerdir=/,upperdir=${place}/upper,workdir=${place}/work ${stage.root}`,
        `mount -t proc proc ${stage.root}/proc && mount --rbind /dev ${stage.root}/dev && mount -t tmpfs tmpfs ${stage.root}/tmp`,
        `cp ${quoted(process.execPath)} ${stage.root}/usr/local/bin/node`,
        `chroot ${stage.root} useradd --create-home node`,
      )
    } else if (stage === undefined) throw new Error(`${word} stands before the first stage`)
    else if (word === 'WORKDIR') {
      stage.folder = argument
      lines.push(`mkdir -p ${stage.root}${argument}`)
    } else if (word === 'ENV') {
      for (const pair of argument.split(/\s+/))
        stage.variables[pair.slice(0, pair.indexOf('='))] = pair.slice(pair.indexOf('=') + 1)
    } else if (word === 'RUN') lines.push(within(argument))
    else if (word === 'COPY') {
      const [, from = ''] = /^--from=(\w+) /.exec(argument) ?? []
      const [to, ...sources] = argument
        .replace(/^--from=\w+ /, '')
        .split(' ')
        .toReversed()
      const source = from === '' ? `${work}/context/` : stages.get(from)!.root
      const target = path.join(stage.root, path.resolve(stage.folder, to!))
      lines.push(`mkdir -p ${target}`)
      for (const each of sources) {
        const whole = path.join(source, each)
        // A folder is copied by what is in it.
        lines.push(
          `if [ -d ${whole} ]; then cp -a ${whole}/. ${target}/; else rmdir ${target} 2>/dev/null || true; mkdir -p ${to!.endsWith('/') ? target : path.dirname(target)}; cp -a ${whole} ${target}; fi`,
        )
      }
    } else if (word === 'USER') stage.user = argument
    else if (word === 'HEALTHCHECK') stage.check = asWords(argument.slice(argument.indexOf('CMD ') + 4))
    else if (word === 'CMD') stage.command = asWords(argument)
    else if (word !== 'VOLUME' && word !== 'EXPOSE') throw new Error(`${word} is not known here`)
  }
  const { user, command, check } = stage!
  const owner = `${user}:${user}`
  const alone = [
    'ip link set lo up',
    `${within(`exec ${command}`, owner)} & service=$!`,
    `until ${within(check, owner)}; do kill -0 $service; sleep 1; done`,
    "echo '== well'",
    within('drover --version', owner),
    'kill -TERM $service && wait $service',
    "echo '== stopped in order'",
  ].join('\n')
  await writeFile(`${work}.alone`, `set -e\n${alone}\n`)
  lines.push(`unshare --net --pid --fork --kill-child sh ${work}.alone`)
  return `${lines.join('\n')}\n`
}

const work = await mkdtemp(path.join(tmpdir(), 'drover-replay-'))
try {
  const { status } = spawnSync('unshare', ['--mount', 'sh', '-c', await script(work)], { stdio: 'inherit' })
  process.exitCode = status ?? 1
} finally {
  await rm(`${work}.alone`, { force: true })
  await rm(work, { recursive: true })
}
