/** Lines over time, in the colours of the scheme and the zone of the viewer. What it shows stands beside it in words as well. */
import 'uplot/dist/uPlot.min.css'
import './chart.css'
import { useComputedColorScheme } from '@mantine/core'
import { useEffect, useEffectEvent, useRef } from 'react'
import uPlot from 'uplot'
import { compact, count, dayOf, timeOfDay, utcText } from '../figures.tsx'
import type { Tone } from '../words.ts'
import { axisWords } from './axis-words.ts'

export interface Line {
  readonly label: string
  readonly tone: Tone
  readonly values: readonly (number | null)[]
  readonly dashed?: boolean
  readonly filled?: boolean
}

interface Props {
  readonly label: string
  /** epoch milliseconds */
  readonly at: readonly number[]
  readonly lines: readonly Line[]
  readonly height?: number
  /** instants marked by a line across, with their words */
  readonly marks?: readonly { readonly at: number; readonly words: string }[]
  /** how a value is told */
  readonly told?: (value: number) => string
  /** each value holds from its instant to the next one */
  readonly stepped?: boolean
}

const STEPS_PX = 80
const [MINUTE_S, HOUR_S, DAY_S] = [60, 3_600, 86_400]
/** How far ticks may be apart. */
const STEPS_S = [
  ...[1, 2, 5, 10, 15, 30],
  ...[1, 2, 5, 10, 15, 30].map(each => each * MINUTE_S),
  ...[1, 2, 3, 6, 12].map(each => each * HOUR_S),
  ...[1, 2, 7, 14, 30, 90, 365].map(each => each * DAY_S),
]
/** How far whole numbers may be apart on their axis. */
const STEPS_WHOLE = Array.from({ length: 10 }, (_, power) => [1, 2, 5].map(each => each * 10 ** power)).flat()
const HEIGHT_PX = 190

/** Drawn anew where its shape or the scheme changes; data alone is set. */
export default function Chart(props: Props) {
  const scheme = useComputedColorScheme('light')
  const { label, lines, height = HEIGHT_PX, stepped = false } = props
  const shape = lines.map(line => `${line.label}${line.tone}${line.dashed}`).join()
  return (
    <div className="chart" role="img" aria-label={label} style={{ height }}>
      <Plot key={`${shape} ${scheme} ${height} ${stepped}`} {...props} />
    </div>
  )
}

function Plot({ at, lines, height = HEIGHT_PX, marks = [], told = count, stepped = false }: Props) {
  const place = useRef<HTMLDivElement>(null)
  const plot = useRef<uPlot | null>(null)
  const marked = useRef(marks)
  marked.current = marks

  const draw = useEffectEvent((element: HTMLElement) => {
    const colour = (name: string) => getComputedStyle(element).getPropertyValue(name).trim()
    const quiet = colour('--quiet')
    const grid = { stroke: colour('--line'), width: 1 }
    const font = `12px ${colour('--font')}`
    const values = (_: uPlot, ticks: number[]) => ticks.map(each => compact(each))
    return new uPlot(
      {
        width: element.clientWidth,
        height,
        legend: { show: false },
        cursor: { y: false, points: { size: 6 } },
        axes: [
          {
            stroke: quiet,
            grid,
            ticks: { ...grid, size: 5 },
            font,
            // With the day below where one of them has it.
            size: (_, words) => ((words ?? []).some(each => each.includes('\n')) ? 48 : 32),
            space: STEPS_PX,
            incrs: STEPS_S,
            values: (_, ticks) => axisWords(ticks),
          },
          {
            ...{ stroke: quiet, grid, ticks: { show: false }, font, size: 52, values },
            // A count has no halves.
            ...(told === count && { incrs: STEPS_WHOLE }),
          },
        ],
        scales: { y: { range: (_, __, max) => [0, Math.max(1, max * 1.05)] } },
        series: [
          {},
          ...lines.map(({ label: name, tone, dashed, filled }) => ({
            label: name,
            stroke: colour(`--tone-${tone}`),
            width: 2,
            points: { show: false },
            ...(dashed && { dash: [5, 4] }),
            ...(filled && { fill: `${colour(`--tone-${tone}`)}2b` }),
            ...(stepped && uPlot.paths.stepped && { paths: uPlot.paths.stepped({ align: 1 }) }),
          })),
        ],
        plugins: [tooltip(lines, told), marking(marked, quiet, font)],
      },
      [[], ...lines.map(() => [])],
      element,
    )
  })
  const resize = useEffectEvent((element: HTMLElement) => plot.current?.setSize({ width: element.clientWidth, height }))

  useEffect(() => {
    const element = place.current
    if (!element) return
    const made = draw(element)
    plot.current = made
    const resized = new ResizeObserver(() => resize(element))
    resized.observe(element)
    return () => {
      resized.disconnect()
      made.destroy()
      plot.current = null
    }
  }, [])

  useEffect(() => {
    plot.current?.setData([at.map(each => each / 1000), ...lines.map(line => [...line.values])])
  }, [at, lines])

  return <div ref={place} />
}

/** What the lines are at the pointer. */
function tooltip(lines: readonly Line[], told: (value: number) => string): uPlot.Plugin {
  const box = document.createElement('div')
  box.className = 'chart-tip'
  return {
    hooks: {
      init: self => self.over.append(box),
      setCursor: self => {
        const { idx, left = -1 } = self.cursor
        box.hidden = idx === null || idx === undefined || left < 0
        if (box.hidden || typeof idx !== 'number') return
        const rows = lines.map((line, index) => {
          const value = self.data[index + 1]?.[idx]
          return value === null || value === undefined ? '' : `${line.label} ${told(value)}`
        })
        const at = (self.data[0][idx] ?? 0) * 1000
        box.textContent = [`${dayOf(at)} ${timeOfDay(at)}`, ...rows.filter(Boolean), utcText(at)].join('\n')
        const right = left > self.over.clientWidth / 2
        box.style.left = right ? '' : `${left + 12}px`
        box.style.right = right ? `${self.over.clientWidth - left + 12}px` : ''
      },
    },
  }
}

/** Lines across at certain instants. */
function marking(marks: { readonly current: Props['marks'] }, colour: string, font: string): uPlot.Plugin {
  return {
    hooks: {
      draw: self => {
        for (const { at, words } of marks.current ?? []) {
          const x = Math.round(self.valToPos(at / 1000, 'x', true))
          const { left, top, width, height } = self.bbox
          if (x < left || x > left + width) continue
          const { ctx } = self
          ctx.save()
          ctx.strokeStyle = colour
          ctx.fillStyle = colour
          ctx.font = font.replace('12px', `${12 * devicePixelRatio}px`)
          ctx.setLineDash([2 * devicePixelRatio, 3 * devicePixelRatio])
          ctx.beginPath()
          ctx.moveTo(x, top)
          ctx.lineTo(x, top + height)
          ctx.stroke()
          ctx.textAlign = x > left + width / 2 ? 'right' : 'left'
          ctx.fillText(words, x + (x > left + width / 2 ? -5 : 5) * devicePixelRatio, top + 12 * devicePixelRatio)
          ctx.restore()
        }
      },
    },
  }
}

/** The names of the lines, with their present values. */
export function ChartKey({
  lines,
}: {
  readonly lines: readonly { readonly label: string; readonly tone: Tone; readonly value?: string }[]
}) {
  return (
    <ul className="chart-key">
      {lines.map(({ label, tone, value }) => (
        <li key={label}>
          <span className={`swatch tone-${tone}`} aria-hidden="true" />
          {label}
          {value !== undefined && <span className="figure strong">{value}</span>}
        </li>
      ))}
    </ul>
  )
}
