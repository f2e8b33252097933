/** What is known of an entity: what was provisioned, and the latest of what it said of itself. */
import './devices.css'
import { Fragment, useMemo } from 'react'
import { Instant } from '../../figures.tsx'
import { CsvOfShown } from '../../parts/csv.tsx'
import { Panel } from '../../parts/page.tsx'
import { boxed, identifierOf, textIn } from './flattened.ts'

export function DeviceValues({ entity }: { readonly entity: Readonly<Record<string, unknown>> }) {
  const names = useMemo(() => Object.keys(entity).sort(), [entity])
  const provisioned = names.filter(name => name.startsWith('provision.') || name === 'resourceType')
  const collected = names.filter(name => !provisioned.includes(name))
  return (
    <>
      <Panel
        title="Latest values"
        actions={collected.length > 0 && <ValuesCsv name="latest-values" entity={entity} names={collected} />}
      >
        {collected.length === 0 ? (
          <p className="quiet">It has not sent any.</p>
        ) : (
          <ValueTable entity={entity} names={collected} />
        )}
      </Panel>
      <Panel title="Provisioned" actions={<ValuesCsv name="provisioned" entity={entity} names={provisioned} />}>
        <ValueTable entity={entity} names={provisioned} />
      </Panel>
    </>
  )
}

interface Values {
  readonly entity: Readonly<Record<string, unknown>>
  readonly names: readonly string[]
}

const ValuesCsv = ({ name, entity, names }: Values & { readonly name: string }) => (
  <CsvOfShown
    name={`${name}-${identifierOf(entity)}`}
    columns={['name', 'value', 'at']}
    rows={() => names.map(each => [each, textIn(entity[each]), boxed(entity[each]).at])}
  />
)

function ValueTable({ entity, names }: Values) {
  return (
    <table className="small-table value-table">
      <thead className="sr-only">
        <tr>
          <th scope="col">Name</th>
          <th scope="col">Value</th>
          <th scope="col">Of</th>
        </tr>
      </thead>
      <tbody>
        {names.map(name => {
          const { at } = boxed(entity[name])
          return (
            <tr key={name}>
              <td className="quiet">
                {name
                  .replace(/^provision\./, '')
                  .split(/(?<=\.)/)
                  .map(part => (
                    <Fragment key={part}>
                      {part}
                      <wbr />
                    </Fragment>
                  ))}
              </td>
              <td>{textIn(entity[name])}</td>
              <td className="right small quiet">{at && <Instant at={at} />}</td>
            </tr>
          )
        })}
      </tbody>
    </table>
  )
}
