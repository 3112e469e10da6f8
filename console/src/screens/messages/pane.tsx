import { confirm } from '../../parts/dialog.tsx'
import { Show, useLoad } from '../../parts/load.tsx'
import { Owner } from '../../parts/owner.tsx'
import { href, Link } from '../../parts/router.tsx'
import { canWrite, six } from '../../parts/session.ts'
import { Tabs } from '../../parts/tabs.tsx'
import { Badge, Facts, Id, Text, Time, type Tone } from '../../parts/text.tsx'
import { toast } from '../../parts/toast.tsx'
import { MessageContent } from './content.tsx'
import { toneOf, type ShownMessage } from './message.ts'

/** A message: who it is for, what happened to it, and its content while that is stored. */
export function MessagePane(props: { id: string; status: string | undefined; again: () => void }) {
  const { id } = props
  // The list may follow what changes: then this does as well.
  const message = useLoad(
    (signal) => six.call('GET /messaging/logs/:id', { params: { id }, signal }),
    [id, props.status],
  )
  const again = () => {
    message.again()
    props.again()
  }
  return (
    <Show of={message}>
      {(one) => (
        <>
          <h2 tabIndex={-1}>
            <Text>{one.subject ?? one.template ?? one.to}</Text>
          </h2>
          <Summary of={one} />
          <Resend of={one} again={again} />
          <Tabs
            label="About the message"
            tabs={[
              { name: 'history', title: 'History', show: () => <History of={one} /> },
              { name: 'content', title: 'Content', show: () => <MessageContent of={one} /> },
            ]}
          />
        </>
      )}
    </Show>
  )
}

const Summary = ({ of: one }: { of: ShownMessage }) => (
  <Facts
    of={[
      ['Status', <Badge tone={toneOf(one.status)}>{one.status}</Badge>],
      one.error !== undefined && ['Reason', <Text>{one.error}</Text>],
      ['To', <Text>{one.to}</Text>],
      ['Channel', one.provider === undefined ? one.channel : `${one.channel} by ${one.provider}`],
      one.template !== undefined && [
        'Template',
        <Link to={href(['templates', one.template])}>{one.template}</Link>,
      ],
      [
        'Sent by',
        one.owner === undefined ? (
          'the server itself'
        ) : (
          <Link to={href(['users', one.owner])}>
            <Owner of={one.owner} />
          </Link>
        ),
      ],
      ['Created', <Time at={one.createdAt} />],
      ['Changed', <Time at={one.updatedAt} />],
      ['Attempts', one.attempts],
      one.messageId !== undefined && ['Provider’s id', <Id what="the provider’s id">{one.messageId}</Id>],
      ['Id', <Id>{one._id}</Id>],
    ]}
  />
)

/** Offered for what failed; why it is impossible is said where it is. */
function Resend({ of: one, again }: { of: ShownMessage; again: () => void }) {
  if (one.status !== 'failed' && one.status !== 'bounced') return null
  if (!one.canResend)
    return (
      <p class="notice">
        {one.hasContent
          ? 'It may have arrived, and a text is never sent twice: send a new one.'
          : 'It cannot be sent again: its content is deleted. Send a new one.'}
      </p>
    )
  const resend = () =>
    confirm({
      title: 'Send this message again?',
      verb: 'Send again',
      children: (
        <p>
          It goes to <Text>{one.to}</Text> with the content that it had.
        </p>
      ),
      async act() {
        await six.call('POST /messaging/logs/:id/resend', { params: { id: one._id } })
        toast('The message is queued.')
        again()
      },
    })
  return (
    <div class="buttons">
      <button type="button" class="primary" disabled={!canWrite.value} onClick={resend}>
        Send again
      </button>
    </div>
  )
}

const WORDS: Record<ShownMessage['history'][number]['event'], readonly [text: string, tone: Tone]> = {
  called: ['was called', 'plain'],
  sent: ['accepted it', 'good'],
  retry: ['The provider did not accept it', 'warning'],
  unknown: ['The provider did not say whether it accepted it', 'warning'],
  failed: ['Failed', 'bad'],
  delivered: ['Delivered', 'good'],
  bounced: ['Bounced', 'bad'],
  resent: ['An operator sent it again', 'plain'],
}

function History({ of: { history, createdAt } }: { of: ShownMessage }) {
  return (
    <ol class="timeline">
      <li>
        <span>Created</span> <Time at={createdAt} />
      </li>
      {history.map(({ at, event, provider, text }, index) => {
        const [words, tone] = WORDS[event]
        const isAct = event === 'called' || event === 'sent'
        return (
          <li key={index} class={tone}>
            <span>{isAct ? `${provider ?? 'The provider'} ${words}` : words}</span> <Time at={at} />
            {text !== undefined && (
              <p>
                <Text>{text}</Text>
              </p>
            )}
          </li>
        )
      })}
    </ol>
  )
}
