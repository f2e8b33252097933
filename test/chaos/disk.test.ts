import { expect, onTestFinished, test } from 'vitest'
import { runDiskFull } from './disk.ts'

const LONG_MS = 600_000

test(
  'a disk of the database that is full ends in clear refusals, and everything that was answered goes on once there is room',
  async ({ skip }) => {
    const lines: string[] = []
    onTestFinished(() => console.log(lines.join('\n')))
    const { wrong, leftOut, figures } = await runDiskFull({
      megabytes: 400,
      devices: 80,
      roomMb: 35,
      tell: line => lines.push(line),
    })
    lines.push(...leftOut, JSON.stringify(figures))
    expect(wrong).toEqual([])
    if (leftOut.length > 0) skip(leftOut.join(', '))
    expect(figures.refused).toBeGreaterThan(0)
  },
  LONG_MS,
)
