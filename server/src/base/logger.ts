/** Writes a line: fields and a message, or a message alone. An error is the field `err`. */
type WriteLine = {
  (fields: object, message?: string): void
  (message: string): void
}

/** The log of the server, as wires see it. */
export type Logger = Readonly<Record<'trace' | 'debug' | 'info' | 'warn' | 'error' | 'fatal', WriteLine>> & {
  /** A log whose lines all have these fields. */
  child(fields: Record<string, unknown>): Logger
}
