import { Show, useLoad } from '../../parts/load.tsx'
import { MailFrame } from './mail-frame.tsx'
import { six } from '../../parts/session.ts'
import { bytes, Text } from '../../parts/text.tsx'
import type { ShownMessage } from './message.ts'

/** The content of a message while it is stored. */
export function MessageContent({ of: { _id: id, hasContent, owner } }: { of: ShownMessage }) {
  if (!hasContent) return <p class="soft">The content of a message is deleted when it is sent.</p>
  if (owner === undefined)
    return (
      <p class="soft">
        The content of a message of the server is not shown: it may hold a link or a code that signs in.
      </p>
    )
  return <StoredContent id={id} />
}

function StoredContent({ id }: { id: string }) {
  const content = useLoad(
    (signal) => six.call('GET /messaging/logs/:id/content', { params: { id }, signal }),
    [id],
  )
  return (
    <Show of={content}>
      {({ page, html, text, attachments }) => (
        <>
          {page !== undefined && html !== undefined && <MailFrame page={page} title="The mail" />}
          {text !== undefined && (
            <pre class="message-text" tabIndex={0} aria-label="Text">
              <Text>{text}</Text>
            </pre>
          )}
          {attachments.length > 0 && (
            <ul>
              {attachments.map(({ filename, contentType, size }) => (
                <li key={filename}>
                  <Text>{filename}</Text>{' '}
                  <span class="soft">
                    {contentType}, {bytes(size)}
                  </span>
                </li>
              ))}
            </ul>
          )}
        </>
      )}
    </Show>
  )
}
