/** A request of the console as the command that does the same. */
import './curl.css'
import { ActionIcon, Popover } from '@mantine/core'
import { useState } from 'react'
import { type Ask, curlOf } from '../request.ts'
import { Icon } from './icons.tsx'
import { Scroller } from './scroller.tsx'

/** The command and a button that copies it. */
export function Curl({ ask, accept }: { readonly ask: Ask<unknown>; readonly accept?: string }) {
  const [copied, setCopied] = useState(false)
  const text = curlOf(ask, accept)
  const copy = async () => {
    await navigator.clipboard.writeText(text)
    setCopied(true)
    setTimeout(() => setCopied(false), 2_000)
  }
  return (
    <div className="curl">
      <Scroller className="curl-text" label="The command">
        <pre>{text}</pre>
      </Scroller>
      <ActionIcon
        variant="subtle"
        color="gray"
        aria-label={copied ? 'Copied' : 'Copy the command'}
        onClick={() => void copy().catch(() => {})}
      >
        <Icon name={copied ? 'done' : 'copy'} />
      </ActionIcon>
    </div>
  )
}

/** A button that shows the command, or the commands where it takes several. */
export function CurlButton({
  ask,
  accept,
  what,
}: {
  readonly ask: Ask<unknown> | readonly Ask<unknown>[]
  readonly accept?: string
  readonly what: string
}) {
  return (
    <Popover
      width={560}
      position="bottom-end"
      shadow="md"
      withinPortal
      trapFocus
      returnFocus
      classNames={{ dropdown: 'curl-popover' }}
    >
      <Popover.Target>
        <ActionIcon variant="default" size={30} aria-label={`${what} with curl`} title={`${what} with curl`}>
          <Icon name="code" />
        </ActionIcon>
      </Popover.Target>
      <Popover.Dropdown>
        {[ask].flat().map(each => (
          <Curl key={each.name} ask={each} {...(accept !== undefined && { accept })} />
        ))}
        <p className="quiet small">
          <code>$DROVER_URL</code> is the address of the service, <code>$DROVER_API_KEY</code> your API key.
        </p>
      </Popover.Dropdown>
    </Popover>
  )
}
