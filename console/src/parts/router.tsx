import { signal } from '@preact/signals'
import type { ComponentChildren } from 'preact'

/** Where the reader is: `#/users/01abc?q=ada` is the screen `users`, the path `['01abc']` and the query `q=ada`. */
export type PagePlace = {
  screen: string
  path: readonly string[]
  query: URLSearchParams
  /** All behind the screen, as one id: it may hold slashes, and is not always encoded. */
  rest: string
}

export type Query = Readonly<Record<string, string | undefined>>

// Filters can hold personal data: what is behind the `#` reaches no log of a server and no Referer.
function readPlace(): PagePlace {
  const hash = location.hash.replace(/^#\/?/, '')
  const [path = '', search] = hash.split(/\?(.*)/s)
  const [screen = '', ...others] = path.split('/').map(decoded)
  return {
    screen,
    path: others.filter((one) => one !== ''),
    query: new URLSearchParams(search),
    rest: decoded(hash.replace(/^[^/]*\/?/, '')),
  }
}

/** Addresses are typed, too. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** The place that the address names. */
export const place = signal<PagePlace>(readPlace())
addEventListener('hashchange', () => (place.value = readPlace()))

/** A value of the address's query; undefined if it is missing or empty. */
export const queryValue = (name: string): string | undefined =>
  place.value.query.get(name)?.trim() || undefined

/** The order of a list in the address, if it is one of these or one of them downwards. */
export function sortInPlace<const N extends string>(...names: readonly N[]): N | `-${N}` | undefined {
  const sort = queryValue('sort')
  return names.some((name) => sort === name || sort === `-${name}`) ? (sort as N | `-${N}`) : undefined
}

/**
 * The address of a place, for `href`.
 *
 * @example href(['users', user._id], { q: 'ada' }) // #/users/01abc?q=ada
 */
export function href(path: readonly string[], query: Query | URLSearchParams = {}): string {
  const entries = query instanceof URLSearchParams ? [...query] : Object.entries(query)
  const search = new URLSearchParams(entries.filter((one): one is [string, string] => Boolean(one[1])))
  const text = search.toString()
  return `#/${path.map(encodeURIComponent).join('/')}${text && `?${text}`}`
}

/** Goes to an address of `href`. `replace` leaves the last one out of the history, such as while a filter is typed. */
export function go(address: string, { replace = false } = {}): void {
  if (address === (location.hash || '#/')) return
  if (replace) history.replaceState(null, '', address)
  else history.pushState(null, '', address)
  place.value = readPlace()
}

/** Changes parameters of the query and keeps the rest; an empty value removes one. */
export function setQuery(changes: Query, { replace = true } = {}): void {
  const { screen, path, query } = place.value
  go(href([screen, ...path], { ...Object.fromEntries(query), ...changes }), { replace })
}

/** A link to a place of this page. */
export function Link(props: {
  to: string
  children: ComponentChildren
  class?: string
  title?: string
  current?: boolean
}) {
  return (
    <a
      href={props.to}
      class={props.class}
      title={props.title}
      aria-current={props.current ? 'page' : undefined}
    >
      {props.children}
    </a>
  )
}

/** A link to another server, which opens in a new tab; plain text if it is not a web address. */
export const Outside = ({ url, children }: { url: string; children?: ComponentChildren }) =>
  /^https?:\/\//i.test(url) ? (
    <a href={url} target="_blank" rel="noopener noreferrer">
      {children ?? url}
    </a>
  ) : (
    <span>{children ?? url}</span>
  )
