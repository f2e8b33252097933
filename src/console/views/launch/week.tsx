/** A window drawn on a week: hours by day, painted with the pointer or with the keys. */
import { Button } from '@mantine/core'
import { type KeyboardEvent, useRef, useState } from 'react'
import { viewerZone } from '../../figures.tsx'
import { DAYS, hoursOpen, type Week } from './draft.ts'

const HOURS = Array.from({ length: 24 }, (_, hour) => hour)
const ALL_DAYS = [0, 1, 2, 3, 4, 5, 6]

const PRESETS: readonly { readonly name: string; readonly week: () => Week }[] = [
  { name: 'Nights 22–06', week: () => hoursOpen(22, 6, ALL_DAYS) },
  { name: 'Work days 09–17', week: () => hoursOpen(9, 17, [0, 1, 2, 3, 4]) },
  { name: 'Weekend', week: () => DAYS.map((_, day) => HOURS.map(() => day > 4)) },
  { name: 'Nothing', week: () => DAYS.map(() => HOURS.map(() => false)) },
]

export function WeekWindow({ week, onChange }: { readonly week: Week; readonly onChange: (week: Week) => void }) {
  const [at, setAt] = useState({ day: 0, hour: 0 })
  const painting = useRef<boolean | null>(null)
  const grid = useRef<HTMLTableElement>(null)

  const paint = (day: number, hour: number, open: boolean) =>
    onChange(week.map((row, d) => (d === day ? row.map((each, h) => (h === hour ? open : each)) : row)))

  const onKeyDown = (event: KeyboardEvent) => {
    const moves: Readonly<Record<string, readonly [number, number]>> = {
      ArrowUp: [-1, 0],
      ArrowDown: [1, 0],
      ArrowLeft: [0, -1],
      ArrowRight: [0, 1],
    }
    const move = moves[event.key]
    if (!move) return
    event.preventDefault()
    const next = { day: (at.day + move[0] + 7) % 7, hour: (at.hour + move[1] + 24) % 24 }
    setAt(next)
    grid.current?.querySelector<HTMLElement>(`[data-cell="${next.day}-${next.hour}"]`)?.focus()
  }

  return (
    <div className="stack">
      <div className="row">
        {PRESETS.map(({ name, week: preset }) => (
          <Button key={name} size="compact-sm" variant="default" onClick={() => onChange(preset())}>
            {name}
          </Button>
        ))}
        <span className="quiet small">
          Hours in {viewerZone}. Drag, or move with the arrows and press the space bar.
        </span>
      </div>
      <div className="scroll-x">
        <table
          className="week"
          ref={grid}
          onKeyDown={onKeyDown}
          onPointerUp={() => {
            painting.current = null
          }}
          onPointerLeave={() => {
            painting.current = null
          }}
        >
          <caption className="sr-only">Hours at which requests may reach devices</caption>
          <thead>
            <tr>
              <th scope="col">
                <span className="sr-only">Day</span>
              </th>
              {HOURS.map(hour => (
                <th key={hour} scope="col">
                  {hour % 3 === 0 ? String(hour).padStart(2, '0') : <span className="sr-only">{hour}</span>}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {DAYS.map((name, day) => (
              <tr key={name}>
                <th scope="row">{name}</th>
                {HOURS.map(hour => {
                  const open = week[day]?.[hour] === true
                  return (
                    <td key={hour}>
                      <button
                        type="button"
                        className="week-hour"
                        data-cell={`${day}-${hour}`}
                        aria-pressed={open}
                        aria-label={`${name} ${hour} to ${hour + 1}`}
                        tabIndex={at.day === day && at.hour === hour ? 0 : -1}
                        onFocus={() => setAt({ day, hour })}
                        onPointerDown={event => {
                          event.currentTarget.releasePointerCapture(event.pointerId)
                          painting.current = !open
                          paint(day, hour, !open)
                        }}
                        onPointerEnter={() => {
                          if (painting.current !== null) paint(day, hour, painting.current)
                        }}
                        onKeyDown={event => {
                          if (event.key !== ' ' && event.key !== 'Enter') return
                          event.preventDefault()
                          paint(day, hour, !open)
                        }}
                      />
                    </td>
                  )
                })}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </div>
  )
}
