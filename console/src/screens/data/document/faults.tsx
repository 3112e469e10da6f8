import { isError } from '../../../../../client/src/index.ts'
import { positionOf, type JsonFault } from '../../../parts/json-text.ts'
import { Problem } from '../../../parts/load.tsx'

/** Why there is nothing to show: the JSON has to be put right first. */
export const Faults = ({ of, text }: { of: readonly JsonFault[]; text: string }) => (
  <div class="notice bad" role="alert">
    <p>
      <strong>This JSON cannot be stored.</strong> Correct it on the tab JSON:
    </p>
    <ul>
      {of.slice(0, 10).map(({ from, message }) => {
        const { line, column } = positionOf(text, from)
        return (
          <li key={from}>
            Line {line}, column {column}: {message}
          </li>
        )
      })}
    </ul>
  </div>
)

/** What the server says of fields, with their paths. */
export function SaveProblem({ error }: { error: unknown }) {
  if (!isError(error, 'VALIDATION_ERROR')) return <Problem error={error} />
  const { issues = [] } = (error.details ?? {}) as { issues?: readonly { path: string; message: string }[] }
  return (
    <div class="notice bad" role="alert">
      <p>
        <strong>The server refused this document.</strong>
      </p>
      <ul>
        {issues.map(({ path, message }) => (
          <li key={path + message}>
            <code>{path.replace(/^\/body\/?/, '').replaceAll('/', '.') || 'The document'}</code> {message}
          </li>
        ))}
      </ul>
    </div>
  )
}
