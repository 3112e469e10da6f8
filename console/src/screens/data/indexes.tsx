import { Badge, Text, Time } from '../../parts/text.tsx'
import type { CollectionSummary } from './collection.ts'

const TONES = { ready: 'good', building: 'warning', failed: 'bad' } as const

/** The indexes of a collection. */
export const Indexes = ({ of }: { of: CollectionSummary['indexes'] }) =>
  of.length === 0 ? (
    <p class="soft">No indexes: each list reads every document.</p>
  ) : (
    <table class="facts-table">
      <thead>
        <tr>
          <th scope="col">Fields</th>
          <th scope="col">State</th>
          <th scope="col">From</th>
          <th scope="col">Last used</th>
        </tr>
      </thead>
      <tbody>
        {of.map(({ fields, unique, search, state, source, reason, lastUsedAt }) => (
          <tr key={`${fields} ${unique} ${search}`}>
            <td>
              <Text>{fields}</Text> {unique && <Badge>unique</Badge>} {search && <Badge>search</Badge>}
            </td>
            <td>
              <Badge tone={TONES[state]}>{state}</Badge> {reason && <Text>{reason}</Text>}
            </td>
            <td>{source === 'declared' ? 'configuration' : 'added by the server'}</td>
            <td>
              <Time at={lastUsedAt} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  )
