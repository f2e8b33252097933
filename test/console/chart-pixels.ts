/** What a chart has painted, read from its canvas, since nothing else of it can be looked at. */
import type { Locator } from 'playwright-core'

/** Whether the chart is filled just above its foot, at each of these parts of its width (0 to 1). */
export function filledAt(chart: Locator, parts: readonly number[]): Promise<boolean[]> {
  return chart.evaluate((element, wanted) => {
    const canvas = element.querySelector('canvas')!
    const over = element.querySelector('.u-over')!.getBoundingClientRect()
    const whole = canvas.getBoundingClientRect()
    const scale = canvas.width / whole.width
    const y = Math.round((over.bottom - whole.top - 4) * scale)
    return wanted.map(part => {
      const x = Math.round((over.left - whole.left + part * over.width) * scale)
      return canvas.getContext('2d')!.getImageData(x, y, 1, 1).data[3]! > 0
    })
  }, parts)
}
