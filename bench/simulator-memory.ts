/**
 * How much memory the simulator takes: 10,000 devices in one process, each doing one UPDATE in three parts, against a stand-in for the
 * service in this process. Prints one row per mix of flows; the peak is the kernel's own figure (VmHWM), so it runs on Linux only.
 * The process is started as `npm run simulate` starts it.
 *
 * `node bench/simulator-memory.ts [devices]`
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { openFakeService } from '../test/simulator/fake-service.ts'

const devices = Number(process.argv[2] ?? 10_000)
const mixes = ['mqtt=1', 'pull=1', 'http-async=1', 'mqtt=1,http-sync=1,http-async=1,pull=1']
const pushedAtOnce = 200

for (const flows of mixes) {
  const { peakMb, readyS, doneS } = await measure(flows)
  process.stdout.write(
    `${devices} devices, ${flows}: peak ${peakMb} MB, up after ${readyS} s, ${devices} operations in ${doneS} s\n`,
  )
}

async function measure(flows: string): Promise<{ peakMb: number; readyS: string; doneS: string }> {
  const service = await openFakeService()
  const startedAt = performance.now()
  const child = spawn(
    process.execPath,
    ['--max-semi-space-size=16', 'src/simulator/main.ts', '--url', service.url, '--mqtt', service.mqtt].concat([
      '--devices',
      `${devices}`,
      '--flows',
      flows,
      '--exit-with-parent',
    ]),
    { env: { ...process.env, DROVER_API_KEY: 'key' }, stdio: ['pipe', 'pipe', 'inherit'] },
  )
  try {
    const ready = await readyLine(child)
    const readyAt = performance.now()
    await askAll(service, ready)
    await service.finals(devices)
    const doneAt = performance.now()
    const seconds = (ms: number) => (ms / 1000).toFixed(1)
    return { peakMb: peakMb(child.pid!), readyS: seconds(readyAt - startedAt), doneS: seconds(doneAt - readyAt) }
  } finally {
    child.kill('SIGKILL')
    await service.close()
  }
}

async function readyLine(child: ChildProcess): Promise<{ url: string; flows: Record<string, number> }> {
  for await (const line of createInterface({ input: child.stdout! })) {
    const { ready, failed } = JSON.parse(line)
    if (failed !== undefined) throw new Error(failed.reason)
    if (ready !== undefined) return ready
  }
  throw new Error('the simulator ended before it was ready')
}

async function askAll(
  service: Awaited<ReturnType<typeof openFakeService>>,
  { url, flows }: { url: string; flows: Record<string, number> },
): Promise<void> {
  const order = Object.keys(flows)
  const parameters = { deploymentElements: [{ name: 'fw', version: '2' }] }
  const pending = Array.from({ length: devices }, (_, index) => index).values()
  const askInTurn = async (): Promise<void> => {
    for (const index of pending) {
      const flow = order[index % order.length]
      const id = `sim-${index}`
      if (flow === 'mqtt') await service.publish(id, `op-${index}`, 'UPDATE', parameters)
      else if (flow === 'pull') service.leave(id, `op-${index}`, 'UPDATE', parameters)
      else await service.push(`${url}/devices/${id}/operation/request`, id, `op-${index}`, 'UPDATE', parameters)
    }
  }
  await Promise.all(Array.from({ length: pushedAtOnce }, askInTurn))
}

function peakMb(pid: number): number {
  const [, kilobytes] = /VmHWM:\s*(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? []
  return Math.round(Number(kilobytes) / 1024)
}
