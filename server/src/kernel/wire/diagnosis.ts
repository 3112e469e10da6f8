/** Something that is wrong with an installation, or soon will be. */
export type Finding = {
  /** A `fault` keeps something from working now or endangers data; a `warning` is likely to be a mistake or soon to be a fault. */
  severity: 'warning' | 'fault'
  /** What is wrong, in one plain sentence. */
  problem: string
  /** What to do about it; empty if the problem says it. */
  remedy: string
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
