import { signal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'

import { Outside } from '../../console/src/parts/router.tsx'
import { Badge, Time, type Tone } from '../../console/src/parts/text.tsx'
import { announce } from '../../console/src/parts/toast.tsx'
import { count, refresh } from './live.ts'
import { Command, Linked, Panes, Row, Title } from './panes.tsx'
import { ask, isUnused, serverUrl, SIGN_IN } from './server.ts'
import { openIn, shown } from './where.ts'

type Message = {
  id: string
  to: string
  channel: 'sms' | 'whatsapp'
  body: string
  media: string[]
  status: string
  errorCode: number | null
  receivedAt: string
}

const CHANNELS = { sms: 'SMS', whatsapp: 'WhatsApp' }

/** The states of a message whose delivery is still under way, and of one that did not arrive. */
const UNDER_WAY = ['queued', 'sent']
const TONES: Readonly<Record<string, Tone>> = { delivered: 'good', undelivered: 'bad', failed: 'bad' }
const REFRESH_MS = 500

const SEND = `${SIGN_IN}
curl ${serverUrl}/messaging/sms \\
  -H "authorization: Bearer $TOKEN" \\
  -H 'content-type: application/json' \\
  -d '{"to": "+14155550123", "body": "Hello from the sandbox"}'`

const messages = signal<readonly Message[] | undefined>(undefined)
let unread = 0
let timer: ReturnType<typeof setTimeout> | undefined

export async function refreshPhone(): Promise<void> {
  const before = messages.peek() && new Set(messages.peek()!.map(({ id }) => id))
  const now = (await ask<{ messages: Message[] }>('GET', '/phone?all=true')).messages
  messages.value = now
  // The state follows from the age of a message: no event reports it.
  clearTimeout(timer)
  if (now.some(({ status }) => UNDER_WAY.includes(status))) timer = setTimeout(refresh, REFRESH_MS, 'phone')
  const arrivals = before ? now.filter(({ id }) => !before.has(id)) : []
  for (const { channel, to } of arrivals) announce(`New ${CHANNELS[channel]} message for ${to}`)
  unread = now.length === 0 ? 0 : shown.peek() === 'phone' ? unread : unread + arrivals.length
  count('phone', unread)
}

/** The messages that the server has sent, one conversation per number. */
export function Phone() {
  const isShown = shown.value === 'phone'
  const open = openIn('phone')
  useEffect(() => {
    if (!isShown) return
    unread = 0
    count('phone', 0)
  }, [isShown, open])
  const conversations = Map.groupBy(messages.value ?? [], ({ to }) => to)
  const conversation = open === undefined ? undefined : conversations.get(open)
  return (
    <Panes
      part="phone"
      isEmpty={messages.value && messages.value.length === 0}
      empty={isUnused('phone') ? <Unused /> : <Empty />}
      choose={<p>Choose a number to read its messages.</p>}
      rows={[...conversations].map(([to, all]) => (
        <NumberRow key={to} messages={all} />
      ))}
      reader={conversation && <Conversation key={open} number={open!} messages={conversation.toReversed()} />}
    />
  )
}

const Unused = () => (
  <>
    <h2>No messages arrive here</h2>
    <p>The server sends them through the provider that is configured, not to this phone.</p>
  </>
)

const Empty = () => (
  <>
    <h2>No messages yet</h2>
    <p>
      Send an SMS or a WhatsApp message and it appears here, one conversation per number. The sender needs an
      account with a verified address: follow the link in its mail first.
    </p>
    <Command text={SEND} what="the command" />
  </>
)

const NumberRow = ({ messages }: { messages: readonly Message[] }) => {
  const { to, body, status, receivedAt } = messages[0]!
  return (
    <Row part="phone" id={to} title={to} moment={<Time at={receivedAt} />}>
      <span class="line">
        <span class="preview">{body}</span>
        {TONES[status] === 'bad' && <State status={status} errorCode={null} />}
      </span>
      <span class="quiet">
        {messages.length} {messages.length === 1 ? 'message' : 'messages'}
      </span>
    </Row>
  )
}

const State = ({ status, errorCode }: Pick<Message, 'status' | 'errorCode'>) => (
  <Badge tone={TONES[status] ?? 'warning'}>
    {errorCode === null ? status : `${status}: error ${errorCode}`}
  </Badge>
)

function Conversation({ number, messages }: { number: string; messages: readonly Message[] }) {
  const list = useRef<HTMLOListElement>(null)
  useEffect(() => list.current?.lastElementChild?.scrollIntoView({ block: 'nearest' }), [messages.length])
  return (
    <>
      <Title>{number}</Title>
      <ol class="conversation" ref={list} aria-label={`Messages to ${number}`}>
        {messages.map(({ id, channel, body, media, status, errorCode, receivedAt }) => (
          <li key={id} class={`bubble ${channel}`}>
            <p class="meta">
              <span class="channel">{CHANNELS[channel]}</span>
              <Time at={receivedAt} />
              <State status={status} errorCode={errorCode} />
            </p>
            <p class="body">
              <Linked text={body} />
            </p>
            {media.map((url) => (
              <p key={url} class="media">
                <Outside url={url} />
              </p>
            ))}
          </li>
        ))}
      </ol>
    </>
  )
}
