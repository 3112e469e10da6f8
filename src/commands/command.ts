/** A command of `sixwire`; `run` returns the exit code. */
export type Command = {
  summary: string
  usage: string
  /** The text below the usage in its own help. */
  help: string
  /** Whether it takes arguments beside options. */
  takesWords?: boolean
  options?: Record<string, { type: 'string' | 'boolean'; multiple?: boolean; short?: string }>
  run(
    words: string[],
    options: Record<string, string | boolean | (string | boolean)[] | undefined>,
  ): Promise<number>
}

/** The arguments are not those of a command. */
export class UsageError extends Error {
  override name = 'UsageError'
}
