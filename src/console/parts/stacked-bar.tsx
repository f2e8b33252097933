/** One bar of all entities of a job, by what became of them; the smallest part that is not zero stays visible. */
import './stacked-bar.css'
import { count, percent } from '../figures.tsx'
import type { Share } from '../words.ts'

const totalOf = (shares: readonly Share[]) => shares.reduce((sum, share) => sum + share.count, 0)

/** What the bar shows, as a sentence. */
function told(shares: readonly Share[]): string {
  const some = shares.filter(share => share.count > 0)
  return some.length === 0 ? 'No operations' : some.map(share => `${share.label} ${count(share.count)}`).join(', ')
}

export function StackedBar({ shares, tall = false }: { readonly shares: readonly Share[]; readonly tall?: boolean }) {
  const total = totalOf(shares)
  return (
    <div className={tall ? 'bar bar-tall' : 'bar'} role="img" aria-label={told(shares)}>
      {shares
        .filter(share => share.count > 0)
        .map(share => (
          <span
            key={share.key}
            className={`bar-part tone-${share.tone} part-${share.key}`}
            style={{ flexGrow: share.count }}
            title={`${share.label}: ${count(share.count)} (${percent(share.count, total)})`}
          />
        ))}
    </div>
  )
}

/** The parts of the bar as a list with their counts; those that are zero are left out unless they always matter. */
export function Legend({
  shares,
  onPick,
  picked,
}: {
  readonly shares: readonly Share[]
  readonly onPick?: (share: Share) => void
  readonly picked?: string | undefined
}) {
  const total = totalOf(shares)
  const shown = shares.filter(share => share.count > 0 || share.key === 'successful' || share.key === 'error')
  return (
    <ul className="legend">
      {shown.map(share => {
        const body = (
          <>
            <span className={`swatch tone-${share.tone} part-${share.key}`} aria-hidden="true" />
            <span className="legend-label">{share.label}</span>
            <span className="figure legend-count">{count(share.count)}</span>
            <span className="figure quiet legend-share">{percent(share.count, total)}</span>
          </>
        )
        const canPick = onPick !== undefined && share.count > 0 && share.group !== 'refused'
        return (
          <li key={share.key}>
            {canPick ? (
              <button
                type="button"
                className="legend-row"
                aria-pressed={picked === share.key}
                onClick={() => onPick(share)}
                title={`Show these operations: ${share.label}`}
              >
                {body}
              </button>
            ) : (
              <span className="legend-row">{body}</span>
            )}
          </li>
        )
      })}
    </ul>
  )
}
