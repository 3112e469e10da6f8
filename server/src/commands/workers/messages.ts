/** What a worker sends to the process that has started it. */
export type FromWorker =
  /** It answers requests. */
  | { readonly is: 'ready' }
  /** A newer version has brought the database up to date: all must end. */
  | { readonly is: 'outdated' }
  | { readonly is: 'tell'; readonly topic: string; readonly content: unknown }
  | { readonly is: 'ask'; readonly id: number; readonly topic: string; readonly content: unknown }
  | { readonly is: 'answer'; readonly id: number; readonly to: number; readonly content: unknown }
  | { readonly is: 'keep'; readonly topic: string; readonly content: unknown }

/** What it is sent. */
export type ToWorker =
  /** All answer requests: it says so for all of them. */
  | { readonly is: 'announce' }
  /** It finishes what is under way, and ends. */
  | { readonly is: 'end' }
  /** It writes a warning into the log. */
  | { readonly is: 'warn'; readonly fields: object; readonly text: string }
  | { readonly is: 'tell'; readonly topic: string; readonly content: unknown }
  | {
      readonly is: 'ask'
      readonly id: number
      readonly from: number
      readonly topic: string
      readonly content: unknown
    }
  /** So many others were asked; the rest answers no requests now. With what each place has kept of the topic. */
  | { readonly is: 'asked'; readonly id: number; readonly of: number; readonly kept: readonly unknown[] }
  | { readonly is: 'answer'; readonly id: number; readonly from: number; readonly content: unknown }
  /** What the one before it in its place had kept. */
  | { readonly is: 'inherit'; readonly kept: Readonly<Record<string, unknown>> }
