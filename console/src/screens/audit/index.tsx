import { List } from '../../parts/list.tsx'
import { place } from '../../parts/router.tsx'
import type { ListColumn } from '../../parts/table.tsx'
import { Badge, Text, Time } from '../../parts/text.tsx'
import { EntryPane } from './entry.tsx'
import { Actor } from './actor.tsx'
import { loadEntries, type ShownAuditEntry } from './entries.ts'

/** Groups of actions, as `action` of the route takes them. */
const GROUPS: readonly (readonly [string, string])[] = [
  ['session.*', 'Sign-ins'],
  ['user.*', 'Accounts'],
  ['key.*', 'Keys'],
  ['access.*', 'Denied'],
  ['payment.*', 'Payments'],
  ['transaction.*', 'Transactions'],
  ['collection.*', 'Collections'],
  ['documents.*', 'Documents'],
  ['files.*', 'Files'],
  ['backup.*', 'Backups'],
  ['message.*', 'Messages'],
  ['job.*', 'One job'],
  ['jobs.*', 'Many jobs'],
  ['webhook.*', 'Webhooks'],
  ['secret.*', 'The secret'],
]

/** Left out beside a pane, which has it. */
const FROM: ListColumn<ShownAuditEntry> = {
  name: 'ip',
  title: 'From',
  order: ({ ip }) => ip,
  cell: ({ ip = '' }) => <Text>{ip}</Text>,
  width: '140px',
  isMinor: true,
}

/** Who did what that concerns accounts, keys, money and whole collections. */
export default function Audit() {
  const action = place.value.query.get('action') ?? ''
  const isOpen = place.value.path.length > 0
  const isOther = action !== '' && !GROUPS.some(([value]) => value === action)
  return (
    <List<ShownAuditEntry>
      title="Audit"
      at={['audit']}
      idOf={({ _id }) => _id}
      nameOf={({ action, createdAt }) => `${action}, ${createdAt}`}
      load={loadEntries}
      canBeLive
      filters={[
        {
          kind: 'choice',
          name: 'action',
          label: 'Action',
          options: isOther ? [...GROUPS, [action, action]] : GROUPS,
        },
        { kind: 'text', name: 'actor', label: 'Who: email, or id of a user or key' },
        { kind: 'text', name: 'target', label: 'Target, such as user:01…' },
        { kind: 'text', type: 'date', name: 'since', label: 'Since' },
        { kind: 'text', type: 'date', name: 'until', label: 'Before' },
      ]}
      columns={[
        {
          name: 'action',
          title: 'Action',
          order: ({ action }) => action,
          cell: ({ action, outcome }) => (
            <>
              <Text>{action}</Text> {outcome === 'denied' && <Badge tone="bad">denied</Badge>}
            </>
          ),
        },
        {
          name: 'target',
          title: 'Target',
          order: nameOfTarget,
          cell: (entry) => <Text>{nameOfTarget(entry)}</Text>,
          isMinor: true,
        },
        {
          name: 'actor',
          title: 'Who',
          order: ({ actor }) => actor.name ?? actor.id,
          cell: (entry) => <Actor of={entry.actor} />,
        },
        ...(isOpen ? [] : [FROM]),
        {
          name: 'at',
          title: 'When',
          sort: 'createdAt',
          cell: ({ createdAt }) => <Time at={createdAt} />,
          width: '130px',
        },
      ]}
      empty={<p>Nothing yet. Sign-ins and what operators change appear here.</p>}
      pane={(id, entry) => <EntryPane id={id} entry={entry} />}
    />
  )
}

const nameOfTarget = ({ target = '', targetName, route }: ShownAuditEntry): string =>
  targetName ?? (target || (route ?? ''))
