import type { RouteKey } from '../../http/route.ts'

/**
 * What an action asks before it runs: nothing, since it can be taken back; a confirmation that names the record; or that
 * the password was given within 10 minutes, if the route has a `proof`.
 */
export const DANGERS = ['none', 'confirm', 'proof'] as const
export type Danger = (typeof DANGERS)[number]

/** What can be done with a record of a screen, or without one. */
export type ScreenAction = {
  /** A route of the wire that is no GET. Its body and query are the form. */
  readonly route: RouteKey
  /** Default: the summary of the route. */
  readonly title?: string
  /**
   * Parameters and fields of the route that the chosen record fills in, by the names of its fields: `{ email: 'email' }`.
   * With it, or with a parameter in the path, the action belongs to a record.
   */
  readonly from?: Readonly<Record<string, string>>
  /** Default: `confirm` for a DELETE, or else `none`. */
  readonly danger?: Danger
}

/** A column of a screen: the name of a field of the records, or with a title of its own. */
export type ScreenColumn = string | { readonly field: string; readonly title?: string }

/**
 * A screen of the console for the records of a wire: what `GET /core/screens` describes, and one generic page renders. Data
 * only; what is allowed and valid is what the routes say.
 *
 * @example
 * screens: [
 *   {
 *     name: 'orders',
 *     title: 'Orders',
 *     list: 'GET /shop/orders',
 *     columns: ['number', 'status', { field: 'createdAt', title: 'Ordered' }],
 *     detail: 'GET /shop/orders/:id',
 *     actions: [{ route: 'POST /shop/orders/:id/ship', danger: 'confirm' }],
 *   },
 * ]
 */
export type WireScreen = {
  /** Its name in addresses, in small letters: `orders`. */
  readonly name: string
  readonly title: string
  /** The GET that lists the records. Its query parameters are the filters; with `cursor` it is read page by page. */
  readonly list: RouteKey
  /** The field of its answer that is the list of records. Default: the only list in it. */
  readonly rows?: string
  readonly columns: readonly ScreenColumn[]
  /** The GET of one record, whose parameters are fields of the record; without it the record of the list is shown. */
  readonly detail?: RouteKey
  readonly actions?: readonly ScreenAction[]
}
