import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { holdDataFolder } from '../../src/store/data-folder.ts'

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'drover-folder-'))
})
afterEach(() => rm(folder, { recursive: true, force: true }))

const holding = `
  import { holdDataFolder } from ${JSON.stringify(path.resolve('src/store/data-folder.ts'))}
  await holdDataFolder(process.argv[1])
  console.log('held')
  setInterval(() => {}, 1000)
`

/** Another process that holds the folder. */
async function holder(): Promise<ChildProcess> {
  const child = spawn(process.execPath, ['--input-type=module', '-e', holding, folder], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  await once(child.stdout ?? child, 'data')
  return child
}

test('a folder that a living process holds is refused, with the name of its holder', async () => {
  const child = await holder()
  await expect(holdDataFolder(folder)).rejects.toThrow(`is held by process ${child.pid} on`)
  child.kill()
  await once(child, 'exit')
})

test('the folder of a killed process is taken over at once', async () => {
  const child = await holder()
  child.kill('SIGKILL')
  await once(child, 'exit')
  const held = await holdDataFolder(folder)
  expect(held.path).toBe(folder)
  held.release()
})

test('of many that start together exactly one holds the folder', async () => {
  const all = await Promise.allSettled(Array.from({ length: 10 }, () => holdDataFolder(folder)))
  const held = all.filter(each => each.status === 'fulfilled')
  expect(held).toHaveLength(1)
  held[0]?.value.release()
})

test('a released folder can be held again; releasing twice does nothing', async () => {
  const first = await holdDataFolder(folder)
  first.release()
  first.release()
  const second = await holdDataFolder(folder)
  await expect(holdDataFolder(folder)).rejects.toThrow('is held by process')
  second.release()
})

test('a folder that cannot be made is a clear word', async () => {
  const file = path.join(folder, 'file')
  await writeFile(file, '')
  await expect(holdDataFolder(path.join(file, 'data'))).rejects.toThrow(`The data folder ${file}/data cannot be used`)
})

test('a folder below others that are not there yet is made with them', async () => {
  const held = await holdDataFolder(path.join(folder, 'some', 'way', 'below'))
  held.release()
})

test('a folder that cannot be made is refused at once, with what the system says of it', async () => {
  await expect(holdDataFolder('/proc/drover/data')).rejects.toThrow(
    /^The data folder \/proc\/drover\/data cannot be used: E[A-Z]+: .*, mkdir '\/proc/,
  )
})
