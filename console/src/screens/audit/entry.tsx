import type { ComponentChildren } from 'preact'

import { isSameJson } from '../../parts/json-changes.ts'
import { useLoad } from '../../parts/load.tsx'
import { href, Link } from '../../parts/router.tsx'
import { anonymous } from '../../parts/session.ts'
import { Badge, Facts, Id, Text, Time } from '../../parts/text.tsx'
import { ActorLink } from './actor.tsx'
import type { ShownAuditEntry } from './entries.ts'
import { Target } from './target.tsx'

/** One entry with what was before and after. */
export function EntryPane({ id, entry }: { id: string; entry: ShownAuditEntry | undefined }) {
  if (!entry)
    return (
      <>
        <h2 tabIndex={-1}>Entry</h2>
        <p>
          <Id>{id}</Id> is not among the entries that are loaded.
        </p>
      </>
    )
  const { action, outcome, target, targetName, actor, impersonatorId, reason } = entry
  return (
    <>
      <h2 tabIndex={-1}>
        <Text>{action}</Text> {outcome === 'denied' && <Badge tone="bad">denied</Badge>}
      </h2>
      <Facts
        of={[
          ['When', <Time at={entry.createdAt} />],
          ['Who', <ActorLink of={actor} />],
          impersonatorId !== undefined && [
            'Impersonated by',
            <Link to={href(['users', impersonatorId])}>{impersonatorId}</Link>,
          ],
          target !== undefined && ['Target', <Target of={target} name={targetName} />],
          reason !== undefined && ['Reason', <Text>{reason}</Text>],
          entry.route !== undefined && ['Route', <code>{entry.route}</code>],
          entry.ip !== undefined && ['Address', <Text>{entry.ip}</Text>],
          entry.userAgent !== undefined && ['Program', <Text>{entry.userAgent}</Text>],
          entry.sessionId !== undefined && [
            'Session',
            <Id what="the id of the session">{entry.sessionId}</Id>,
          ],
          entry.requestId !== undefined && [
            'Request',
            <Link to={href(['logs'], { requestId: entry.requestId })}>
              <Text>{entry.requestId}</Text>
            </Link>,
          ],
          ['Entry', <Id>{entry._id}</Id>],
        ]}
      />
      <Changes before={entry.before} after={entry.after} />
      <h3>More</h3>
      <ul class="entry-links">
        <More query={{ action }}>all of {action}</More>
        {target !== undefined && <More query={{ target }}>all about this target</More>}
        {actor.id !== undefined && <More query={{ actor: actor.id }}>all by the same {actor.kind}</More>}
        {actor.id === undefined && <More query={{ actor: actor.kind }}>all of this kind of actor</More>}
      </ul>
    </>
  )
}

const More = ({ query, children }: { query: Record<string, string>; children: ComponentChildren }) => (
  <li>
    <Link to={href(['audit'], query)}>Show {children}</Link>
  </li>
)

type Values = Readonly<Record<string, unknown>> | undefined

/** What changed, name by name; what is on one side only was added or removed. */
function Changes({ before, after }: { before: Values; after: Values }) {
  const names = [...new Set([...Object.keys(before ?? {}), ...Object.keys(after ?? {})])]
  if (names.length === 0) return null
  return (
    <table class="changes">
      <caption>{before && after ? 'What changed' : after ? 'What it is now' : 'What it was'}</caption>
      <thead>
        <tr>
          <th scope="col">Name</th>
          {before && <th scope="col">Before</th>}
          {after && <th scope="col">After</th>}
        </tr>
      </thead>
      <tbody>
        {names.map((name) => {
          const [was, is] = [before?.[name], after?.[name]]
          const isChanged = before !== undefined && after !== undefined && !isSameJson(was, is)
          return (
            <tr key={name}>
              <th scope="row">
                <Text>{name}</Text>
              </th>
              {before && <td>{isChanged ? <del>{valueOf(was)}</del> : valueOf(was)}</td>}
              {after && (
                <td>
                  {isChanged ? <ins>{valueOf(is)}</ins> : valueOf(is)}
                  {name === 'method' && <ProviderOfMethod of={String(is)} />}
                </td>
              )}
            </tr>
          )
        })}
      </tbody>
    </table>
  )
}

/** The name for people of the identity provider by which a session began; nothing for other methods. */
function ProviderOfMethod({ of: method }: { of: string }) {
  const isProvider = /^(?:idp[ab]$|providers\/)/.test(method)
  const loaded = useLoad(
    async (signal) => (isProvider ? anonymous.call('GET /auth/providers', { signal }) : { providers: [] }),
    [isProvider],
  )
  const provider = loaded.value?.providers.find(({ name }) => name === method.replace('providers/', ''))
  return provider ? <span class="soft"> {provider.label}</span> : null
}

const valueOf = (value: unknown): ComponentChildren => {
  if (value === undefined) return <span class="soft">–</span>
  return <Text>{typeof value === 'string' ? value : JSON.stringify(value)}</Text>
}
