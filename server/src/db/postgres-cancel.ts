import pg from 'pg'

// The parts of `pg` that @types/pg does not have.
type Inner = {
  processID: number
  secretKey: number
  connection: { startup: () => void; cancel(processID: number, secretKey: number): void }
}

/**
 * Asks the server to cancel what it runs on a connection. The request has a connection of its own, and no answer; it may
 * arrive after the statement, so nothing else may run on that connection afterwards.
 * https://www.postgresql.org/docs/current/protocol-flow.html#PROTOCOL-FLOW-CANCELING-REQUESTS
 *
 * @param target the connection, whose settings the request's connection has too
 */
export async function cancelStatement(target: pg.ClientBase, options: pg.ClientConfig): Promise<void> {
  const { processID, secretKey } = target as unknown as Inner
  const client = new pg.Client(options)
  client.on('error', () => undefined)
  const { connection } = client as unknown as Inner
  // Sent after TLS is agreed on, like the message that it replaces.
  connection.startup = () => connection.cancel(processID, secretKey)
  // It fails in any case: the server closes it without a word. If it cannot be reached, the statement ends at the
  // server's own limit.
  await client.connect().catch(() => undefined)
}
