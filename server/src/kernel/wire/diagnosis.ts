/** What mends a finding: a call that an operator may make as it stands. */
export type Mend = {
  /** The words of its button: `Make a backup now`. */
  readonly label: string
  /** `POST /store/backup`, with its parameters filled in. */
  readonly call: string
  readonly body?: Readonly<Record<string, unknown>>
  /** What is asked before, if it does what cannot be undone. */
  readonly asks?: string
  /** What is said when it is done. */
  readonly done: string
}

/** Something that is wrong with an installation, or soon will be. */
export type Finding = {
  /** A `fault` keeps something from working now or endangers data; a `warning` is likely to be a mistake or soon to be a fault. */
  severity: 'warning' | 'fault'
  /** What is wrong, in one plain sentence. */
  problem: string
  /** What to do about it; empty if the problem says it. */
  remedy: string
  mend?: Mend
}

/** A check of `sixwire doctor`. It only reads, and asks no query that grows with the data. */
export type Diagnosis = {
  name: string
  /** What it looks at, in a few words. */
  about: string
  /** The place of the console where it is mended or looked at: `{ title: 'Show the failed jobs', at: 'jobs?state=failed' }`. */
  opens?: { readonly title: string; readonly at: string }
  /** @throws Error with a sentence why nothing can be said */
  find(): Promise<readonly Finding[]>
}

export const warning = (problem: string, remedy: string): Finding => ({
  severity: 'warning',
  problem,
  remedy,
})
export const fault = (problem: string, remedy: string): Finding => ({ severity: 'fault', problem, remedy })

/** The finding where a condition holds. */
export const findingIf = (condition: boolean, finding: () => Finding): Finding[] =>
  condition ? [finding()] : []
