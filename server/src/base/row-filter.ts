/**
 * The rows that a caller may see and change. Each case has a tag: a missing field never means all rows.
 * A policy decides by owner alone; `none` and `matching` come from rules, whose conditions read the row.
 */
export type RowFilter<Condition = never> =
  | { readonly rows: 'all' }
  | { readonly rows: 'own'; readonly owner: string }
  | (Condition extends unknown ? { readonly rows: 'none' } | MatchingRows<Condition> : never)

/** The rows that meet a condition, and all those of an owner if `alsoOf` names one. */
type MatchingRows<Condition> = {
  readonly rows: 'matching'
  readonly condition: Condition
  readonly alsoOf: string | undefined
}

export const allRows = { rows: 'all' } as const

export const ownRows = (owner: string) => ({ rows: 'own', owner }) as const

/** Whether a row of this owner is within, whatever it is like. */
export const includesOwner = (rowFilter: RowFilter<unknown>, owner: string): boolean =>
  rowFilter.rows === 'all' ||
  (rowFilter.rows === 'own' && rowFilter.owner === owner) ||
  (rowFilter.rows === 'matching' && rowFilter.alsoOf === owner)
