import { JsonDiff } from '../../../parts/json-diff.tsx'
import { setQuery } from '../../../parts/router.tsx'
import { Badge, Text, Time } from '../../../parts/text.tsx'
import type { ListedVersion } from './use-definition.ts'

const TONES = { active: 'good', pending: 'warning', past: 'plain', refused: 'bad' } as const
const WORDS = { active: 'in force', pending: 'being checked', past: 'past', refused: 'refused' } as const

/** The versions of a definition, each with what it changed against the one in force. */
export default function Versions(props: {
  of: readonly ListedVersion[]
  /** The definition in force. */
  now: unknown
  isLocked: boolean
  edit: (text: string) => void
}) {
  const { of, now, isLocked, edit } = props
  if (of.length === 0) return <p class="soft">No versions yet: each change makes one.</p>
  return (
    <ul class="versions">
      {of.map(({ version, state, createdAt, report, definition }) => (
        <li key={version}>
          <details>
            <summary>
              Version {version} <Badge tone={TONES[state]}>{WORDS[state]}</Badge> <Time at={createdAt} />
            </summary>
            {report?.reason && (
              <p>
                <Text>{report.reason}</Text>
              </p>
            )}
            <JsonDiff before={definition} after={now} same="It is the same as the one in force." />
            <button
              type="button"
              class="small"
              disabled={isLocked || !definition}
              onClick={() => {
                edit(JSON.stringify(definition, null, 2))
                setQuery({ tab: 'json' })
              }}
            >
              Edit this version
            </button>
          </details>
        </li>
      ))}
    </ul>
  )
}
