import { useState } from 'preact/hooks'

import { openLate } from '../../parts/late.tsx'
import { List } from '../../parts/list.tsx'
import { href, Link, place, setQuery } from '../../parts/router.tsx'
import { canWrite, six } from '../../parts/session.ts'
import { Badge, bytes, Text } from '../../parts/text.tsx'
import { RELATIONS, ruleText, type CollectionSummary } from './collection.ts'

/** What a name begins with, up to the first `_` or `-`. */
const groupOf = (name: string): string => /^[^_-]+(?=[_-])/.exec(name)?.[0] ?? ''

/** All collections, with who may read them and how large they are. */
export default function Collections() {
  const [groups, setGroups] = useState<readonly string[]>([])
  const { query } = place.value
  const isSized = query.get('sizes') === 'on'
  return (
    <List<CollectionSummary>
      title="Data"
      at={['data']}
      idOf={({ name }) => name}
      deps={[isSized]}
      filters={[
        { kind: 'search', name: 'q', label: 'Search collections' },
        ...(groups.length > 1
          ? [
              {
                kind: 'choice' as const,
                name: 'group',
                label: 'Group',
                options: groups.map((one) => [one, one] as const),
              },
            ]
          : []),
      ]}
      load={async ({ cursor, signal }) => {
        const { data, nextCursor } = await six.call('GET /store/collections', {
          query: { cursor, sizes: isSized },
          signal,
        })
        setGroups((known) =>
          [...new Set([...known, ...data.map(({ name }) => groupOf(name))])].filter(Boolean).toSorted(),
        )
        const [text, group] = [query.get('q') ?? '', query.get('group') ?? '']
        const rows = data.filter(
          ({ name }) =>
            name.toLowerCase().includes(text.toLowerCase()) && (!group || groupOf(name) === group),
        )
        return { rows, nextCursor }
      }}
      columns={[
        {
          name: 'name',
          title: 'Collection',
          cell: ({ name }) => (
            <a class="open" href={href(['data', name])}>
              <Text>{name}</Text>
            </a>
          ),
        },
        {
          name: 'documents',
          title: 'Documents',
          cell: ({ documents }) => documents.toLocaleString(),
          width: '110px',
          isNumber: true,
        },
        {
          name: 'bytes',
          title: 'Size',
          cell: ({ bytes: size }) => (size === undefined ? '' : bytes(size)),
          width: '90px',
          isNumber: true,
          isMinor: true,
        },
        {
          name: 'read',
          title: 'Who reads',
          cell: ({ rules }) => <Text>{ruleText(rules.read)}</Text>,
          isMinor: true,
        },
        {
          name: 'with',
          title: 'With',
          cell: (one) => withOf(one).map((what) => <Badge key={what}>{what}</Badge>),
          isMinor: true,
        },
      ]}
      buttons={(again) => (
        <>
          <Link to={href(['data', RELATIONS])}>Relations</Link>
          <button
            type="button"
            class="small"
            aria-pressed={isSized}
            title="Adds up the bytes of all documents"
            onClick={() => setQuery({ sizes: isSized ? undefined : 'on' })}
          >
            Sizes
          </button>
          <button
            type="button"
            class="small primary"
            disabled={!canWrite.value}
            onClick={() => openLate(() => import('./definition/new-collection.tsx'), { again })}
          >
            New collection
          </button>
        </>
      )}
      empty={
        <>
          <p>No collections yet.</p>
          <p>Make one here, with its fields and rules or from a template.</p>
        </>
      }
    />
  )
}

const withOf = ({ declared, schema, unique, search, relations, hooks }: CollectionSummary): string[] => [
  ...(declared ? [] : ['undeclared']),
  ...(schema ? ['schema'] : []),
  ...(unique.length > 0 ? ['unique'] : []),
  ...(search.length > 0 ? ['search'] : []),
  ...(Object.keys(relations).length > 0 ? ['relations'] : []),
  ...(hooks.length > 0 ? ['hooks'] : []),
]
