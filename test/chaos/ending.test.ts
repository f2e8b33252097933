import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { freePort } from '../../src/store/postmaster.ts'
import { stopNodes } from './ending.ts'
import { createNode } from './nodes.ts'

/** A node that is back or not, was stopped `before` with these codes, and ends with `code` now. */
function fakeNode(
  of: { name?: string; isBack?: boolean; before?: (number | null)[]; code?: number | 'no process' } = {},
) {
  const { name = 'node 0', isBack = true, before = [], code = 0 } = of
  const stops = [...before]
  return {
    name,
    deaths: [] as string[],
    stops,
    ready: async () => {
      if (!isBack) throw new Error(`${name} is not ready after a while`)
    },
    stop: async () => {
      if (code !== 'no process') stops.push(code)
    },
  }
}

test('nodes that are there at the end and stop in order have ended well, whatever was stopped before', async () => {
  expect(await stopNodes({ nodes: [fakeNode(), fakeNode({ before: [0, 0] })] })).toEqual([])
})

test('a node that does not come back is a fault of the run, though it never was seen to die', async () => {
  const gone = fakeNode({ name: 'node 1', isBack: false, code: 'no process', before: [0] })
  expect(await stopNodes({ nodes: [fakeNode(), gone] })).toEqual([
    '6: node 1 is not ready after a while',
    '6: node 1 was to be stopped in order once, and was 0 times',
  ])
})

test('a node that has ended by itself, or ends a stop in order with anything but 0, is a fault of the run', async () => {
  const dead = { ...fakeNode({ name: 'node 1' }), deaths: ['node 1 ended by itself: 1'] }
  const nodes = [dead, fakeNode({ name: 'node 2', code: 3 }), fakeNode({ name: 'node 3', before: [null] })]
  expect(await stopNodes({ nodes })).toEqual([
    '6: node 1 ended by itself: 1',
    '6: node 2 was stopped in order and ended with 3',
    '6: node 3 was stopped in order and ended with SIGKILL, since it took too long',
  ])
})

test('a stop in order is remembered of every process that was found ready, and of a node without one there is none', async () => {
  const root = await mkdtemp(path.join(tmpdir(), 'drover-ending-'))
  onTestFinished(() => rm(root, { recursive: true, force: true }))
  await mkdir(path.join(root, 'src'))
  // Ready, and does not say so.
  const program = `import { createServer } from 'node:http'
    createServer((request, response) => response.end()).listen(Number(process.env.DROVER_PORT), '127.0.0.1')
    process.once('SIGTERM', () => process.exit(0))`
  await writeFile(path.join(root, 'package.json'), '{"type":"module"}')
  await writeFile(path.join(root, 'src/main.ts'), program)
  const node = createNode({
    name: 'node 0',
    port: await freePort(),
    logFile: path.join(root, 'log'),
    variables: {},
    root,
  })
  onTestFinished(() => node.kill())
  await expect(node.ready(1)).rejects.toThrow('node 0 is not ready after 1 ms')
  node.start()
  expect(await stopNodes({ nodes: [node] })).toEqual([])
  expect(node.stops).toEqual([0])
  await node.stop(1)
  expect(node.stops).toEqual([0])
}, 180_000)
