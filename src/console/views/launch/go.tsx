/** Where a plan becomes a job or a task: how many it is for, what must be confirmed first, and the command that does the same. */
import { Button, Checkbox, TextInput } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { useLocation } from 'wouter'
import type { PlanView } from '../../../contract/client/client.ts'
import { type NothingRuns, nothingRunsWords, whyNothingRuns } from '../../../contract/client/plan-words.ts'
import { count, counted } from '../../figures.tsx'
import { LARGE } from '../../parts/action.tsx'
import { Curl } from '../../parts/curl.tsx'
import { Icon } from '../../parts/icons.tsx'
import type { Once } from '../../parts/once.ts'
import { Panel } from '../../parts/page.tsx'
import { Failed } from '../../parts/states.tsx'
import { save } from '../../request.ts'
import { type Draft, isLong, LISTED_MAX } from './draft.ts'
import { forgetDraft } from './kept-draft.ts'
import { jobMaking, makeJob, makingScript, taskMaking } from './making.ts'
import { useTitle } from './recap.tsx'

/** What is done: launched or created, once it was confirmed where it is large, or comes to nothing. */
export function Go({
  draft,
  plan,
  isTask,
  once,
}: {
  readonly draft: Draft
  readonly plan: PlanView
  readonly isTask: boolean
  readonly once: Once
}) {
  const [, go] = useLocation()
  const queries = useQueryClient()
  const [typed, setTyped] = useState('')
  const [done, setDone] = useState(0)
  const { total } = plan.target
  const mustType = total >= LARGE
  const nothing = whyNothingRuns(plan)
  // The instants move with the clock, and what is warned of stays the same.
  const warning = nothing && nothingRunsWords(plan, () => '').join('')
  const [meant, setMeant] = useState<string | null>(null)
  const isMeant = meant === warning
  const barred = nothing === 'noDevice' && !isTask ? whyBarred(draft) : null
  const isTyped = !mustType || Number(typed.replace(/[\s,.']/g, '')) === total
  const isRight = isTyped && barred === null && (nothing === null || isMeant)
  const making = useMutation({
    mutationFn: () => makeJob(draft, isTask, once, setDone),
    onSuccess: async path => {
      forgetDraft(isTask)
      await queries.invalidateQueries()
      go(path)
    },
  })
  const title = useTitle(draft.name)
  const isLaunched = !isTask && draft.start !== 'never'
  const verb = isTask ? 'Create the task' : isLaunched ? title : 'Create the job'
  return (
    <Panel title={isTask ? 'Create' : 'Launch'}>
      <form
        className="stack"
        onSubmit={event => {
          event.preventDefault()
          if (isRight) making.mutate()
        }}
      >
        {barred && <p className="bad">{barred}</p>}
        {nothing && !barred && (
          <Checkbox
            label={`${isLaunched ? 'Launch' : 'Create'} it all the same: ${isTask ? laterRuns(nothing) : present(isLaunched)}`}
            checked={isMeant}
            onChange={event => setMeant(event.currentTarget.checked ? warning : null)}
          />
        )}
        {mustType && (
          <TextInput
            label={`Type ${count(total)} to confirm`}
            value={typed}
            inputMode="numeric"
            autoComplete="off"
            onChange={event => setTyped(event.currentTarget.value)}
          />
        )}
        {making.isError && <Failed error={making.error} />}
        {making.isPending && done > 0 && <p className="figure">{count(done)} devices listed…</p>}
        <Button
          type="submit"
          className="launch-button"
          {...(nothing && { color: 'red' })}
          disabled={!isRight}
          loading={making.isPending}
          leftSection={<Icon name="launch" size={15} />}
        >
          {nothing && isLaunched ? 'Launch, and run nothing' : `${verb} on ${counted(total, 'device')}`}
        </Button>
        <details className="more">
          <summary>The same with curl</summary>
          <TheSame draft={draft} isTask={isTask} />
        </details>
      </form>
    </Panel>
  )
}

/** Why a job without a device is not made: what would become of it is known, and no job that somebody asks for. */
const whyBarred = ({ target }: Draft): string =>
  target === 'list'
    ? 'A job on a list is refused where nothing of it can be used.'
    : 'A job looks for its devices once, when it is made: this one would have none to run on.'

/** What may still come of a task whose next run comes to nothing. */
const laterRuns = (nothing: NothingRuns): string =>
  nothing === 'noDevice' ? 'each run looks for its devices anew' : 'its next run would launch nothing'

/** What comes of a job that would run nothing now; one that is not launched yet may run something later. */
const present = (isLaunched: boolean): string =>
  isLaunched ? 'nothing of it would run' : 'activated now, it would run nothing'

/** The same with curl: one command, or a script where the list takes several. */
function TheSame({ draft, isTask }: { readonly draft: Draft; readonly isTask: boolean }) {
  if (isTask) return <Curl ask={taskMaking(draft)} />
  if (!isLong(draft)) return <Curl ask={jobMaking(draft)} />
  const name = `launch-on-${draft.list.length}.sh`
  return (
    <div className="stack">
      <p className="small">
        {counted(draft.list.length, 'identifier')} take several requests of at most {LISTED_MAX}: this script makes them
        all.
      </p>
      <pre className="code">{`DROVER_URL=${location.origin} DROVER_API_KEY=… sh ${name}`}</pre>
      <div>
        <Button
          size="compact-sm"
          variant="default"
          leftSection={<Icon name="down" size={14} />}
          onClick={() => save(new Blob([makingScript(draft)], { type: 'text/x-shellscript' }), name)}
        >
          Download {name}
        </Button>
      </div>
    </div>
  )
}
