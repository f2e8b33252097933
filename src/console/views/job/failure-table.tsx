/** Groups of operations that ended alike, a row each, leading to their devices. */
import { Button } from '@mantine/core'
import type { FailureGroup } from '../../../contract/client/client.ts'
import { count } from '../../figures.tsx'
import { Status } from '../../parts/status.tsx'
import { beside, type FailureChosen } from './operation-filter.ts'

interface Props {
  readonly groups: readonly FailureGroup[]
  readonly choose: (failure: FailureChosen) => void
}

export function FailureTable({ groups, choose }: Props) {
  return (
    <div className="scroll-x failures">
      <table className="small-table">
        <thead>
          <tr>
            <th scope="col" className="right">
              Operations
            </th>
            <th scope="col">Result</th>
            <th scope="col" className="wide-only">
              Step
            </th>
            <th scope="col" className="wide-only">
              Description
            </th>
            <th scope="col" className="wide-only">
              <span className="sr-only">Devices</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {groups.map(({ count: number, ...group }) => {
            const { status, result, step, stepDescription, description } = group
            const show = (
              <Button size="compact-xs" variant="default" onClick={() => choose(group)}>
                Show these devices
              </Button>
            )
            return (
              <tr key={Object.values(group).join('|')}>
                <td className="right figure strong">{count(number)}</td>
                <td>
                  <Status word={result} />
                  <div className="quiet small">{beside(status, result)}</div>
                  <div className="narrow-only small">
                    <p className="quiet">{[step, description, stepDescription].filter(Boolean).join(' · ')}</p>
                    {show}
                  </div>
                </td>
                <td className="wide-only">{step ?? <span className="quiet">–</span>}</td>
                <td className="wide-only">
                  {[description, stepDescription].filter(Boolean).join(' · ') || <span className="quiet">–</span>}
                </td>
                <td className="right wide-only">{show}</td>
              </tr>
            )
          })}
        </tbody>
      </table>
    </div>
  )
}
