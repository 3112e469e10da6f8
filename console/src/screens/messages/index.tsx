import { openDialog } from '../../parts/dialog.tsx'
import { List } from '../../parts/list.tsx'
import { queryValue, sortInPlace } from '../../parts/router.tsx'
import { canWrite, six } from '../../parts/session.ts'
import { Badge, Text, Time } from '../../parts/text.tsx'
import { CHANNELS, STATUSES, toneOf, type MessageEntry } from './message.ts'
import { MessagePane } from './pane.tsx'
import { SendTest } from './send-test.tsx'

async function load({ cursor, signal }: { cursor: string | undefined; signal: AbortSignal }) {
  const { logs, nextCursor } = await six.call('GET /messaging/logs', {
    query: {
      q: queryValue('q'),
      owner: queryValue('owner'),
      since: queryValue('since'),
      until: queryValue('until'),
      channel: queryValue('channel') as MessageEntry['channel'] | undefined,
      status: queryValue('status') as MessageEntry['status'] | undefined,
      sort: sortInPlace('status', 'createdAt'),
      cursor,
      limit: 100,
      total: 'none',
    },
    signal,
  })
  return { rows: logs, nextCursor }
}

/** Every email, SMS and WhatsApp message, with its status and the answers of its provider. */
export default function Messages() {
  return (
    <List<MessageEntry>
      title="Messages"
      at={['messages']}
      idOf={({ _id }) => _id}
      nameOf={({ to }) => to}
      load={load}
      canBeLive
      filters={[
        { kind: 'search', name: 'q', label: 'Recipient, subject, template or id' },
        { kind: 'choice', name: 'channel', label: 'Channel', options: CHANNELS },
        { kind: 'choice', name: 'status', label: 'Status', options: STATUSES },
        { kind: 'text', name: 'since', label: 'Created from', type: 'datetime-local' },
        { kind: 'text', name: 'until', label: 'Created before', type: 'datetime-local' },
        { kind: 'text', name: 'owner', label: 'Sender: email or id' },
      ]}
      columns={[
        { name: 'to', title: 'To', order: ({ to }) => to, cell: ({ to }) => <Text>{to}</Text> },
        {
          name: 'what',
          title: 'Subject or template',
          order: ({ subject, template }) => subject ?? template,
          cell: ({ subject, template }) =>
            subject !== undefined ? <Text>{subject}</Text> : <span class="soft">{template ?? '–'}</span>,
          isMinor: true,
        },
        {
          name: 'channel',
          title: 'Channel',
          order: ({ channel }) => channel,
          cell: ({ channel }) => channel,
          width: '92px',
          isMinor: true,
        },
        {
          name: 'status',
          title: 'Status',
          sort: 'status',
          cell: ({ status }) => <Badge tone={toneOf(status)}>{status}</Badge>,
          width: '104px',
        },
        {
          name: 'created',
          title: 'Created',
          sort: 'createdAt',
          cell: ({ createdAt }) => <Time at={createdAt} />,
          width: '124px',
        },
      ]}
      empty={
        <>
          <p>No message was sent yet.</p>
          <p>
            Send one by <code>POST /messaging/email</code>, or send a test here.
          </p>
        </>
      }
      buttons={(again) => (
        <button
          type="button"
          class="small"
          disabled={!canWrite.value}
          onClick={() => openDialog((close) => <SendTest close={close} sent={again} />)}
        >
          Send a test
        </button>
      )}
      pane={(id, entry, again) => <MessagePane id={id} status={entry?.status} again={again} />}
    />
  )
}
