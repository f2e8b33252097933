/**
 * Something that will be done to devices: it says beforehand what and to how many, asks for the number to be typed where it is large,
 * and shows the command that does the same.
 */
import './action.css'
import { Button, Modal, TextInput } from '@mantine/core'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { type FormEvent, type ReactNode, useState } from 'react'
import type { PlanView } from '../../contract/client/client.ts'
import { leftOutWords, whyNothingRuns } from '../../contract/client/plan-words.ts'
import { count, counted } from '../figures.tsx'
import { type Ask, ask } from '../request.ts'
import { DialogEnd } from './dialog-end.tsx'
import { Icon, type IconName } from './icons.tsx'
import { NothingRunsBox } from './nothing-runs.tsx'
import { Notice } from './notice.tsx'
import { useOnce } from './once.ts'
import { Failed } from './states.tsx'

/** From so many devices on, the count is typed. */
export const LARGE = 100

export interface ActionProps<T> {
  /** the verb on the button and in the dialog: Pause, Cancel the job */
  readonly name: string
  readonly icon?: IconName
  readonly ask: Ask<T>
  /** does the request, where more is wanted of its answer than the body */
  readonly send?: (asked: Ask<T>) => Promise<T>
  /** it makes a job: however often it is sent while the dialog is open, one */
  readonly makesJob?: boolean
  /** what will happen, in a sentence or two */
  readonly children: ReactNode
  /** how many devices it touches; null where it touches none, left out where the plan counts them */
  readonly touches?: number | null
  /** it can be taken back, and may be wanted at once: no number is typed */
  readonly atOnce?: boolean
  /** counts the devices before the job is made */
  readonly plan?: Ask<PlanView>
  /** why it cannot be done as it is chosen; the devices are not counted then */
  readonly lacks?: string | null
  /** whether it is known that nothing is lacking; the devices are not counted before */
  readonly isReady?: boolean
  /** how many the plan should find, where that is known: what it finds less is said */
  readonly of?: number
  readonly onOpen?: () => void
  readonly danger?: boolean
  readonly primary?: boolean
  readonly disabled?: boolean
  readonly onDone?: (answer: T) => void
}

export function Action<T>(props: ActionProps<T>) {
  const { name, icon, danger = false, primary = false, disabled = false, onOpen } = props
  const [open, setOpen] = useState(false)
  return (
    <>
      <Button
        variant={primary ? 'filled' : 'default'}
        size="xs"
        disabled={disabled}
        {...(icon && { leftSection: <Icon name={icon} size={14} /> })}
        className={danger ? 'button-danger' : ''}
        onClick={() => {
          setOpen(true)
          onOpen?.()
        }}
      >
        {name}
      </Button>
      <Modal
        opened={open}
        onClose={() => setOpen(false)}
        title={name}
        size="lg"
        closeButtonProps={{ 'aria-label': 'Close' }}
      >
        <Confirmation {...props} onClose={() => setOpen(false)} />
      </Modal>
    </>
  )
}

function Confirmation<T>({
  name,
  ask: asked,
  send = each => ask(each),
  makesJob = false,
  children,
  touches: present,
  plan,
  lacks = null,
  isReady = true,
  of,
  atOnce = false,
  danger = false,
  onDone,
  onClose,
}: ActionProps<T> & { readonly onClose: () => void }) {
  const queries = useQueryClient()
  const [typed, setTyped] = useState('')
  const once = useOnce()
  const doing = useMutation({
    mutationFn: () => send(makesJob ? once(asked) : asked),
    onSuccess: async answer => {
      onClose()
      onDone?.(answer)
      await queries.invalidateQueries()
    },
  })
  const planned = useQuery({
    queryKey: ['plan', plan?.given],
    queryFn: ({ signal }) => (plan ? ask(plan, signal) : null),
    enabled: plan !== undefined && lacks === null && isReady,
    staleTime: 0,
    // What was counted when the dialog was last open is no number to confirm.
    gcTime: 0,
  })
  // As it was when the dialog opened: the number of a job that runs falls while it is being typed.
  const [known, setKnown] = useState(present)
  if (known === undefined && present !== undefined) setKnown(present)
  const touches = plan ? (isReady && !planned.isError ? planned.data?.target.total : undefined) : known
  const mustType = !atOnce && typeof touches === 'number' && touches >= LARGE
  // A new job without devices is none; what is there already may be paused or ended without any.
  const isEmpty = plan !== undefined && touches === 0
  const runsNothing = planned.data ? whyNothingRuns(planned.data) !== null : false
  const isRight = !mustType || Number(typed.replace(/[\s,.']/g, '')) === touches
  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (isRight && lacks === null && touches !== undefined && !isEmpty) doing.mutate()
  }
  return (
    <form className="stack" onSubmit={submit}>
      <div className="stack">{children}</div>
      {planned.isError && <Failed error={planned.error} />}
      {planned.data && lacks === null && <NothingRunsBox plan={planned.data} />}
      {(touches !== null || lacks !== null) && (
        // There from the beginning, so that what changes in it is read out.
        <div role="status">
          {lacks && <Notice>{lacks}</Notice>}
          {lacks === null && touches !== null && !planned.isError && <Touches devices={touches} of={of} />}
        </div>
      )}
      {mustType && lacks === null && (
        <TextInput
          label={`Type ${count(touches)} to confirm`}
          value={typed}
          onChange={event => setTyped(event.currentTarget.value)}
          inputMode="numeric"
          autoComplete="off"
          data-autofocus
        />
      )}
      <DialogEnd
        ask={asked}
        error={doing.error}
        verb={name}
        danger={danger || runsNothing}
        disabled={!isRight || lacks !== null || touches === undefined || isEmpty}
        isPending={doing.isPending}
        onLeave={onClose}
      />
    </form>
  )
}

/** How many devices it touches, once they are counted, and how many of those chosen it leaves out. */
function Touches({ devices, of }: { readonly devices: number | undefined; readonly of: number | undefined }) {
  if (devices === undefined) return <p className="touches">Counting the devices…</p>
  const leftOut = of === undefined ? null : leftOutWords(of, devices)
  return (
    <p className="touches">
      This touches <strong>{counted(devices, 'device')}</strong>.{leftOut && ` ${leftOut}`}
    </p>
  )
}
