import type { Worker } from 'node:cluster'

type Message = { readonly act?: string }
type Handle = { close(): void }
type Send = (message: Message, handle?: Handle, ...rest: unknown[]) => boolean

/**
 * Follows the connection that a worker is being given. If the worker dies before it accepts the connection, Node never
 * closes it, and the client gets no answer.
 *
 * @returns closes it: to be called when the worker has ended
 */
export function closeUnaccepted({ process: child }: Worker): () => void {
  const send = child.send.bind(child) as unknown as Send
  let last: Handle | undefined
  const follow: Send = (message, handle, ...rest) => {
    if (message.act === 'newconn') last = handle
    return send(message, handle, ...rest)
  }
  child.send = follow as unknown as typeof child.send
  // Of one that was accepted it is closed already, which makes a second time nothing.
  return () => last?.close()
}
