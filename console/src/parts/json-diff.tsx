import { changesOf } from './json-changes.ts'
import { diffLines, hunksOf, type DiffLine } from './json-lines.ts'
import { Text } from './text.tsx'

const SHOWN_CHARACTERS = 2_000
const SHOWN_LINES = 2_000
const SHOWN_PATHS = 20
const MARKS = { same: ' ', added: '+', removed: '−' } as const
const WORDS = { same: '', added: 'added: ', removed: 'removed: ' } as const

/**
 * What differs between two values, line by line, with the paths above it.
 *
 * @param props.same said if nothing differs
 */
export function JsonDiff({ before, after, same }: { before: unknown; after: unknown; same: string }) {
  const hunks = hunksOf(diffLines(linesOf(before), linesOf(after)))
  if (hunks.length === 0) return <p class="soft">{same}</p>
  const paths = changesOf(before, after).map(({ path }) => path.join('.'))
  let linesLeft = SHOWN_LINES
  return (
    <div class="diff">
      {paths.length > 0 && (
        <p class="soft">
          {paths.length === 1 ? 'Changed: ' : `${paths.length} changes: `}
          {paths.slice(0, SHOWN_PATHS).map((path, at) => (
            <>
              {at > 0 && ', '}
              <code>
                <Text>{path || 'the document'}</Text>
              </code>
            </>
          ))}
          {paths.length > SHOWN_PATHS && ` and ${paths.length - SHOWN_PATHS} more`}
        </p>
      )}
      <pre tabIndex={0} aria-label="Changed lines">
        {hunks.map(({ skipped, lines }) => {
          const shown = lines.slice(0, linesLeft)
          linesLeft -= shown.length
          return (
            <>
              {skipped > 0 && <div class="skipped">… {skipped} lines as before</div>}
              {shown.map((line) => (
                <Line {...line} />
              ))}
            </>
          )
        })}
        {linesLeft === 0 && <div class="skipped">… and more: too many to show</div>}
      </pre>
    </div>
  )
}

const Line = ({ kind, text }: DiffLine) => (
  <div class={kind}>
    <span aria-hidden="true">{MARKS[kind]} </span>
    <span class="quiet">{WORDS[kind]}</span>
    <Text>{text.length > SHOWN_CHARACTERS ? `${text.slice(0, SHOWN_CHARACTERS)}…` : text}</Text>
  </div>
)

const linesOf = (value: unknown): string => JSON.stringify(value, null, 2) ?? ''
