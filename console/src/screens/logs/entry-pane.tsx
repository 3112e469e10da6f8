import { Show, useLoad } from '../../parts/load.tsx'
import { href, Link } from '../../parts/router.tsx'
import { six } from '../../parts/session.ts'
import { Facts, Id, Json, Text, Time } from '../../parts/text.tsx'
import { Caller, Outcome, subjectOf, type ShownLog } from './entry.tsx'

/** One entry, and what else was logged for the same request. */
export function EntryPane({ id, entry }: { id: string; entry: ShownLog | undefined }) {
  if (!entry) return <h2 tabIndex={-1}>This entry is not among those that are loaded.</h2>
  const { requestId, at, ms, code, caller, ip, route, fault, fields, process } = entry
  return (
    <>
      <h2 tabIndex={-1}>
        <Text>{subjectOf(entry)}</Text>
      </h2>
      <p>
        <Outcome entry={entry} />
      </p>
      <Facts
        of={[
          ['When', <Time at={at} />],
          requestId !== undefined && ['Request', <Id what="the id of the request">{requestId}</Id>],
          route !== undefined && [
            'Route',
            <Link to={href(['logs'], { route })}>
              <Text>{route}</Text>
            </Link>,
          ],
          code !== undefined && ['Code', <Text>{code}</Text>],
          ms !== undefined && ['Time taken', `${ms.toFixed(2)} ms`],
          entry.kind === 'request' && ['Caller', <Caller of={caller} />],
          ip !== undefined && ['Address', <Text>{ip}</Text>],
          fault !== undefined && ['Fault', <Link to={href(['faults', fault])}>{fault}</Link>],
          ['Process', <Text>{process}</Text>],
          ['Entry', <Text>{id}</Text>],
        ]}
      />
      {fields && <Json value={fields} label="What was logged with it" />}
      {requestId !== undefined && <SameRequest requestId={requestId} except={id} />}
    </>
  )
}

function SameRequest({ requestId, except }: { requestId: string; except: string }) {
  const loaded = useLoad(
    (signal) => six.call('GET /core/logs', { query: { requestId, limit: 50 }, signal }),
    [requestId],
  )
  return (
    <section aria-label="The same request">
      <h3>Of the same request</h3>
      <Show of={loaded}>
        {({ entries }) => {
          const others = entries.filter(({ _id }) => _id !== except)
          if (others.length === 0) return <p class="soft">Nothing else was logged.</p>
          return (
            <ul>
              {others.map((one) => (
                <li key={one._id}>
                  <Outcome entry={one} />{' '}
                  <Link to={href(['logs', one._id], { requestId })}>
                    <Text>{subjectOf(one)}</Text>
                  </Link>
                </li>
              ))}
            </ul>
          )
        }}
      </Show>
    </section>
  )
}
