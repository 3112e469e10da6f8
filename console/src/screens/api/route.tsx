import { CallView } from '../../code/call-view.tsx'
import type { DescribedRoute } from '../../code/route-calls.ts'
import { Text } from '../../parts/text.tsx'

/** What a route does, and a call of it with the examples of its description. */
export default function RoutePane({
  route: { method, path, summary, description, call },
}: {
  route: DescribedRoute
}) {
  return (
    <>
      <h2 tabIndex={-1}>
        <Text>{summary}</Text>
      </h2>
      {description.split('\n\n').map((paragraph) => (
        <p key={paragraph}>
          <Marked text={paragraph} />
        </p>
      ))}
      {call ? (
        <CallView call={call} />
      ) : (
        <>
          <p>
            <code>
              {method} <Text>{path}</Text>
            </code>
          </p>
          <p class="soft">
            Its requests are of a protocol of their own, or come from a provider: there is no code for it
            here.
          </p>
        </>
      )}
    </>
  )
}

/** Text with code between backticks. */
const Marked = ({ text }: { text: string }) => (
  <>
    {text.split('`').map((part, at) =>
      at % 2 === 1 ? (
        <code key={at}>
          <Text>{part}</Text>
        </code>
      ) : (
        <Text key={at}>{part}</Text>
      ),
    )}
  </>
)
