/** A figure on the first page of the console: how many accounts there are, or when the last backup was made. */
export type Figure = {
  /** In small letters, with hyphens between words: `unverified-accounts`. */
  readonly name: string
  readonly title: string
  /** What the value is: `time` is ISO 8601, `bytes` and `count` are numbers. */
  readonly kind: 'count' | 'bytes' | 'time' | 'text'
  /** Whether a value above 0, or of a time none, needs attention. */
  readonly isWarning?: boolean
  /** One query that grows slowly with the data, at most; null if there is no value. */
  read(): Promise<number | string | null>
}
