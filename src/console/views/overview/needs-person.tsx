/** What goes on only when somebody does something: jobs that are paused or idle, and what could not be told. */
import type { ReactNode } from 'react'
import { Link } from 'wouter'
import type { JobView } from '../../../contract/client/client.ts'
import { count, Instant } from '../../figures.tsx'
import { useAsked } from '../../live.ts'
import { Icon } from '../../parts/icons.tsx'
import { Failed, Loading } from '../../parts/states.tsx'
import { Status } from '../../parts/status.tsx'
import { asking } from '../../request.ts'
import { jobFilter } from '../job-filter.ts'
import { NEWEST } from './standing.ts'

const LINES = 4

const newestOf = (status: string) =>
  asking('POST /search/jobs', { body: { ...NEWEST, filter: jobFilter(status), limit: { size: LINES } } })
const PAUSED = newestOf('PAUSED')
const IDLE = newestOf('IDLE')
const GIVEN_UP = asking('GET /deliveries', { query: { state: 'GIVEN_UP', size: LINES } })

export function NeedsPerson({ jobs }: { readonly jobs: ReadonlyMap<string, number> | undefined }) {
  const paused = useAsked(PAUSED, { live: true })
  const idle = useAsked(IDLE, { live: true })
  const givenUp = useAsked(GIVEN_UP, { every: 15_000 })
  const failed = [paused, idle, givenUp].find(each => each.isError && !each.data)
  if (failed) return <Failed error={failed.error} retry={() => void failed.refetch()} />
  if (!jobs || [paused, idle, givenUp].some(each => each.data === undefined)) return <Loading what="what waits" />
  const deliveries = givenUp.data?.deliveries ?? []
  const [isPaused, isIdle] = [jobs.get('PAUSED') ?? 0, jobs.get('IDLE') ?? 0]
  if (isPaused + isIdle + deliveries.length === 0) {
    return (
      <p className="good row">
        <Icon name="done" /> Nothing waits for a person.
      </p>
    )
  }
  return (
    <div className="stack">
      {isPaused > 0 && (
        <Group word="PAUSED" number={count(isPaused)} what="to be resumed" href="/jobs?show=PAUSED">
          {paused.data?.jobs.map(lineOf)}
        </Group>
      )}
      {isIdle > 0 && (
        <Group word="IDLE" number={count(isIdle)} what="to be activated" href="/jobs?show=IDLE">
          {idle.data?.jobs.map(lineOf)}
        </Group>
      )}
      {deliveries.length > 0 && (
        <Group
          word="GIVEN_UP"
          number={(givenUp.data?.page.of ?? 1) > 1 ? `over ${deliveries.length}` : count(deliveries.length)}
          what="to be repeated"
          href="/deliveries?state=GIVEN_UP"
        >
          {deliveries.map(({ id, jobId, event, receiver, finishedDate }) => ({
            key: id,
            href: `/deliveries?state=GIVEN_UP&job=${jobId}`,
            name: `${event} to ${receiver}`,
            beside: <Instant at={finishedDate} />,
          }))}
        </Group>
      )}
    </div>
  )
}

interface Line {
  readonly key: string
  readonly href: string
  readonly name: string
  readonly beside: ReactNode
}

const lineOf = ({ id, request }: JobView): Line => ({
  key: id,
  href: `/jobs/${id}`,
  name: String(request.name),
  beside: String(request.userNotes ?? ''),
})

function Group({
  word,
  number,
  what,
  href,
  children = [],
}: {
  readonly word: string
  readonly number: string
  readonly what: string
  readonly href: string
  readonly children?: readonly Line[] | undefined
}) {
  return (
    <section>
      <h3 className="waiting-head">
        <Status word={word} />
        <Link href={href} className="figure">
          {number}
        </Link>
        <span className="quiet small">{what}</span>
      </h3>
      <ul className="waiting-lines">
        {children.map(line => (
          <li key={line.key} className="cut">
            <Link href={line.href}>{line.name}</Link> <span className="quiet small">{line.beside}</span>
          </li>
        ))}
      </ul>
    </section>
  )
}
