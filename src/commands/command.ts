/** A command of `sixwire`: what it is for, how it is written, and what it does. Answers the exit code. */
export type Command = {
  summary: string
  usage: string
  /** What follows the usage in its own help. */
  help: string
  /** Whether it is more than its own name and options. */
  takesWords?: boolean
  options?: Record<string, { type: 'string' | 'boolean'; multiple?: boolean; short?: string }>
  run(
    words: string[],
    options: Record<string, string | boolean | (string | boolean)[] | undefined>,
  ): Promise<number>
}

/** The words do not make a command. */
export class UsageError extends Error {
  override name = 'UsageError'
}
