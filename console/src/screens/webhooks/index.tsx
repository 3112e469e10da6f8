import type { Api } from '../../../../client/src/index.ts'
import { List } from '../../parts/list.tsx'
import { Late, openLate } from '../../parts/late.tsx'
import { messageOf } from '../../parts/load.tsx'
import { Tabs } from '../../parts/tabs.tsx'
import { canWrite, six } from '../../parts/session.ts'
import { Badge, Facts, Text, Time } from '../../parts/text.tsx'
import { toast } from '../../parts/toast.tsx'
import { Deliveries } from './deliveries.tsx'

type Webhook = Api['GET /core/webhooks']['reply']['webhooks'][number]

const State = ({ of: { state, failingSince } }: { of: Webhook }) =>
  state === 'off' ? (
    <Badge tone="bad">off</Badge>
  ) : failingSince === undefined ? (
    <Badge tone="good">on</Badge>
  ) : (
    <Badge tone="warning">failing</Badge>
  )

/** The webhooks, and what is delivered to them. */
export default function Webhooks() {
  return (
    <List<Webhook>
      title="Webhooks"
      at={['webhooks']}
      idOf={({ name }) => name}
      load={async ({ signal }) => ({ rows: (await six.call('GET /core/webhooks', { signal })).webhooks })}
      columns={[
        {
          name: 'name',
          title: 'Name',
          order: ({ name }) => name,
          cell: ({ name }) => <Text>{name}</Text>,
          width: '180px',
        },
        {
          name: 'state',
          title: 'State',
          order: ({ offSince, failingSince }) => offSince ?? failingSince ?? '',
          cell: (webhook) => <State of={webhook} />,
          width: '100px',
        },
        {
          name: 'url',
          title: 'Address',
          order: ({ url }) => url,
          cell: ({ url }) => <Text>{url}</Text>,
          isMinor: true,
        },
        {
          name: 'waiting',
          title: 'Waiting',
          order: ({ waiting }) => waiting,
          cell: ({ waiting }) => waiting.toLocaleString(),
          isNumber: true,
          width: '90px',
        },
      ]}
      buttons={(again) => (
        <button
          type="button"
          class="small primary"
          disabled={!canWrite.value}
          onClick={() => openLate(() => import('./new-webhook.tsx'), { again })}
        >
          New webhook
        </button>
      )}
      empty={
        <p>
          No webhook yet. Add one here, or by <code>webhooks</code> in sixwire.config.ts: events are sent to
          it.
        </p>
      }
      pane={(name, webhook, again) => <WebhookPane name={name} webhook={webhook} again={again} />}
    />
  )
}

function WebhookPane(props: { name: string; webhook: Webhook | undefined; again: () => void }) {
  const { name, webhook, again } = props
  if (!webhook)
    return (
      <h2 tabIndex={-1}>
        There is no webhook <Text>{name}</Text>.
      </h2>
    )
  const { url, events, state, waiting, failingSince, offSince, offReason } = webhook
  const enable = () =>
    void six.call('POST /core/webhooks/:name/enable', { params: { name } }).then(
      () => {
        toast('Switched on: waiting deliveries are sent.')
        return again()
      },
      (error: unknown) => toast(messageOf(error), { tone: 'bad' }),
    )
  const facts = () => (
    <>
      <Facts
        of={[
          ['State', <State of={webhook} />],
          ['Address', <Text>{url}</Text>],
          [
            'Events',
            <>
              {events.map((event) => (
                <span key={event}>
                  <Badge>{event}</Badge>{' '}
                </span>
              ))}
            </>,
          ],
          ['Waiting', waiting.toLocaleString()],
          failingSince !== undefined && ['Failing since', <Time at={failingSince} />],
          offSince !== undefined && ['Off since', <Time at={offSince} />],
          offReason !== undefined && ['Because', <Text>{offReason}</Text>],
        ]}
      />
      <Late load={() => import('./stored-webhook.tsx')} props={{ name, again }} />
      {state === 'off' && (
        <div class="buttons">
          <button type="button" class="primary" disabled={!canWrite.value} onClick={enable}>
            Switch on
          </button>
        </div>
      )}
    </>
  )
  return (
    <>
      <h2 tabIndex={-1}>
        <Text>{name}</Text>
      </h2>
      <Tabs
        label="Parts of this webhook"
        tabs={[
          { name: 'deliveries', title: 'Deliveries', show: () => <Deliveries webhook={name} /> },
          { name: 'about', title: 'About', show: facts },
        ]}
      />
    </>
  )
}
