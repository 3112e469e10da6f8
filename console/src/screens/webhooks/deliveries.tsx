import { useState } from 'preact/hooks'

import type { Api } from '../../../../client/src/index.ts'
import { messageOf, Problem } from '../../parts/load.tsx'
import { useRows } from '../../parts/rows.ts'
import { canWrite, six } from '../../parts/session.ts'
import { Badge, Text, Time, type Tone } from '../../parts/text.tsx'
import { toast } from '../../parts/toast.tsx'

type Delivery = Api['GET /core/webhooks/deliveries']['reply']['deliveries'][number]

const TONES: Readonly<Record<Delivery['state'], Tone>> = {
  delivered: 'good',
  waiting: 'warning',
  failed: 'bad',
}

/** What was sent to a webhook, newest first. */
export function Deliveries({ webhook }: { webhook: string }) {
  const [state, setState] = useState('')
  const list = useRows<Delivery>(
    async ({ cursor, signal }) => {
      const query = {
        webhook,
        state: (state || undefined) as Delivery['state'] | undefined,
        cursor,
        limit: 50,
      }
      const { deliveries, nextCursor } = await six.call('GET /core/webhooks/deliveries', { query, signal })
      return { rows: deliveries, nextCursor }
    },
    ({ _id }) => _id,
    [webhook, state],
    false,
  )
  const retry = (id: string) =>
    void six.call('POST /core/webhooks/deliveries/:id/retry', { params: { id } }).then(
      () => {
        toast('It is sent again.')
        return list.again()
      },
      (error: unknown) => toast(messageOf(error), { tone: 'bad' }),
    )
  return (
    <div class="deliveries">
      <div class="buttons">
        <select
          aria-label="State of the deliveries"
          value={state}
          onChange={(event) => setState(event.currentTarget.value)}
        >
          <option value="">State: all</option>
          {Object.keys(TONES).map((one) => (
            <option key={one} value={one}>
              {one}
            </option>
          ))}
        </select>
        <button type="button" class="small" onClick={list.again}>
          Refresh
        </button>
      </div>
      {list.error !== undefined && <Problem error={list.error} again={list.again} />}
      <ul class="cards">
        {list.rows.map((one) => (
          <li key={one._id}>
            <p>
              <strong>
                <Text>{one.type}</Text>
              </strong>{' '}
              <Badge tone={TONES[one.state]}>{one.state}</Badge>
            </p>
            <p class="soft">
              <Time at={one.createdAt} /> · record <Text>{one.record}</Text> · {one.attempts} attempt
              {one.attempts === 1 ? '' : 's'}
              {one.lastStatus !== undefined && ` · answered ${one.lastStatus}`}
              {one.nextAttemptAt !== undefined && (
                <>
                  {' '}
                  · again <Time at={one.nextAttemptAt} />
                </>
              )}
            </p>
            {one.lastError !== undefined && (
              <p class="fault">
                <Text>{one.lastError}</Text>
              </p>
            )}
            <button
              type="button"
              class="small"
              disabled={!canWrite.value}
              aria-label={`Send again: ${one.type} of ${one.record}`}
              onClick={() => retry(one._id)}
            >
              Send again
            </button>
          </li>
        ))}
      </ul>
      {!list.isLoading && list.rows.length === 0 && list.error === undefined && (
        <p class="soft">{state === '' ? 'Nothing was sent yet.' : 'No delivery is in this state.'}</p>
      )}
      {list.hasMore && (
        <button type="button" onClick={list.more} disabled={list.isLoading}>
          Load more
        </button>
      )}
    </div>
  )
}
