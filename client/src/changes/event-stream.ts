/** One server-sent event. */
export type ServerEvent = {
  event: string
  data: string
  /** That of the last event which had one; else empty. */
  id: string
}

type Handlers = {
  readonly onEvent: (one: ServerEvent) => void
  /** How long to wait before the next connection. */
  readonly onRetry: (ms: number) => void
}

const NONE = { event: 'message', data: '' }

/**
 * Reads an event stream piece by piece, however it is cut.
 *
 * @see https://html.spec.whatwg.org/multipage/server-sent-events.html#event-stream-interpretation
 * @returns a function that takes the next bytes
 */
export function eventReader({ onEvent, onRetry }: Handlers): (bytes: Uint8Array) => void {
  const decoder = new TextDecoder()
  let next = { ...NONE, id: '' }
  let rest = ''
  let endedByCr = false

  function take(line: string): void {
    if (line === '') {
      // The data ends without the line feed of its last line.
      if (next.data) onEvent({ ...next, data: next.data.slice(0, -1) })
      next = { ...next, ...NONE }
      return
    }
    // A comment is a field without a name.
    const [, name, value = ''] = /^([^:]*)(?:: ?(.*))?$/s.exec(line)!
    if (name === 'data') next.data += `${value}\n`
    else if (name === 'event') next.event = value || NONE.event
    else if (name === 'id' && !value.includes('\0')) next.id = value
    else if (name === 'retry' && /^\d+$/.test(value)) onRetry(Number(value))
  }

  return (bytes) => {
    let text = decoder.decode(bytes, { stream: true })
    if (text === '') return
    // A CR ends a line at once. The line feed of the same CRLF may come later, and ends no other one.
    if (endedByCr && text.startsWith('\n')) text = text.slice(1)
    endedByCr = text.endsWith('\r')
    const lines = (rest + text).split(/\r\n|\r|\n/)
    rest = lines.pop()!
    for (const line of lines) take(line)
  }
}
