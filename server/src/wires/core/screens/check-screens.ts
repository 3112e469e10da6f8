import type { TSchema } from 'typebox'

import { didYouMean } from '../../../base/did-you-mean.ts'
import { StartError } from '../../../base/start-error.ts'
import { schemaOfBody } from '../../../http/bodies.ts'
import type { Route } from '../../../http/route.ts'
import {
  checkFields,
  isEach,
  isPlain,
  isText,
  oneOf,
  optional,
  TEXT,
  type Field,
} from '../../../kernel/config/fields.ts'
import {
  DANGERS,
  type ScreenAction,
  type ScreenColumn,
  type WireScreen,
} from '../../../kernel/wire/screen.ts'
import { fieldsOf, kindOf, propertiesOf, titleOf } from './schema-fields.ts'
import type { ShownAction, ShownScreen } from './shown-screen.ts'

const NAME = /^[a-z][a-z\d-]{0,39}$/
/** What the list part of the console sends itself. */
const OF_PAGES = new Set(['limit', 'offset', 'cursor', 'total', 'preview'])

const SCREEN: { readonly [Name in keyof Required<WireScreen>]: Field } = {
  name: {
    takes: 'small letters, digits and hyphens, like orders',
    fits: (value) => typeof value === 'string' && NAME.test(value),
  },
  title: TEXT,
  list: TEXT,
  rows: optional(TEXT),
  columns: {
    takes: 'a list of fields, like ["email", { field: "createdAt", title: "Since" }]',
    fits: (value) =>
      Array.isArray(value) && value.length > 0 && value.every((one) => isText(one) || isPlain(one)),
  },
  detail: optional(TEXT),
  actions: optional({
    takes: 'a list of actions, like [{ route: "POST /shop/orders/:id/ship" }]',
    fits: (value) => Array.isArray(value) && value.every(isPlain),
  }),
}
const COLUMN: { readonly [Name in keyof Required<Exclude<ScreenColumn, string>>]: Field } = {
  field: TEXT,
  title: optional(TEXT),
}
const ACTION: { readonly [Name in keyof Required<ScreenAction>]: Field } = {
  route: TEXT,
  title: optional(TEXT),
  from: optional({
    takes: 'an object of fields of the record, like { email: "email" }',
    fits: (value) => isPlain(value) && isEach(value, isText),
  }),
  danger: optional(oneOf(DANGERS)),
}

/**
 * Checks the screens of a wire against its routes, and adds what the routes say: kinds of columns, filters and forms.
 *
 * @throws StartError with the wire, the screen and what does not fit
 */
export function checkScreens(
  wire: string,
  routes: readonly Route[],
  screens: readonly WireScreen[],
): ShownScreen[] {
  const names = new Set<string>()
  return screens.map((screen, at) => {
    checkFields(`wires: ${wire}: screens[${at}]`, screen, SCREEN)
    const where = `wires: ${wire}: screens: ${screen.name}`
    if (names.has(screen.name)) throw new StartError(`${where}: there are two screens of this name`)
    names.add(screen.name)
    return shownScreen({ wire, where, routes }, screen)
  })
}

type Place = { readonly wire: string; readonly where: string; readonly routes: readonly Route[] }

function shownScreen(place: Place, screen: WireScreen): ShownScreen {
  const list = routeAt(place, 'list', screen.list)
  if (list.method !== 'GET') throw new StartError(`${place.where}: list: ${list.key} must be a GET`)
  const [parameter] = parametersOf(list)
  if (parameter !== undefined)
    throw new StartError(`${place.where}: list: ${list.key} must have no ":${parameter}" in its path`)
  const { rows, record } = recordsOf(place, list, screen.rows)
  const columns = screen.columns.map((column) => shownColumn(place, record, column))
  const filters = fieldsOf(list.spec.query, 'query').filter(({ name }) => !OF_PAGES.has(name))
  const key = ['_id', 'id'].find((name) => record && name in record) ?? columns[0]!.field
  const detail = screen.detail === undefined ? undefined : routeAt(place, 'detail', screen.detail)
  if (detail && detail.method !== 'GET')
    throw new StartError(`${place.where}: detail: ${detail.key} must be a GET`)
  return {
    wire: place.wire,
    name: screen.name,
    title: screen.title,
    list: list.key,
    rows,
    key,
    isPaged: propertiesOf(list.spec.query)?.['cursor'] !== undefined,
    filters,
    columns,
    ...(detail && {
      detail: { route: detail.key, from: filledBy({ ...place, key, record }, 'detail', detail, {}) },
    }),
    actions: (screen.actions ?? []).map((action, at) => shownAction({ ...place, key, record }, at, action)),
  }
}

function routeAt({ wire, where, routes }: Place, field: string, key: string): Route {
  const found = routes.find((one) => one.key === key)
  if (found) return found
  const keys = routes.map((one) => one.key)
  throw new StartError(
    `${where}: ${field}: the wire ${wire} has no route ${JSON.stringify(key)}${didYouMean(key, keys)}`,
  )
}

const parametersOf = ({ path }: Route): string[] => Array.from(path.matchAll(/:(\w+)/g), ([, name]) => name!)

type RecordFields = Readonly<Record<string, TSchema>> | undefined

/** Where the answer has the records, and their fields; undefined if the schema does not name them. */
function recordsOf(
  { where }: Place,
  list: Route,
  rows: string | undefined,
): { rows: string; record: RecordFields } {
  const lowest = Math.min(...Object.keys(list.spec.reply).map(Number))
  const answer = propertiesOf(list.spec.reply[lowest]) ?? {}
  const lists = Object.keys(answer).filter((name) => (answer[name] as { type?: string }).type === 'array')
  const name = rows ?? lists[0]
  if (name === undefined || !lists.includes(name) || (rows === undefined && lists.length > 1))
    throw new StartError(
      `${where}: ${rows === undefined ? 'rows: name the list of records in' : `rows: there is no list ${JSON.stringify(rows)} in`} the answer of ${list.key}${lists.length > 0 ? `: it has ${lists.join(', ')}` : ''}`,
    )
  return { rows: name, record: propertiesOf((answer[name] as { items?: TSchema }).items) }
}

function shownColumn(
  { where }: Place,
  record: RecordFields,
  column: ScreenColumn,
): ShownScreen['columns'][number] {
  if (typeof column !== 'string') checkFields(`${where}: columns`, column, COLUMN)
  const { field, title = titleOf(field) } = typeof column === 'string' ? { field: column } : column
  requireField(`${where}: columns`, record, field)
  const schema = record?.[field]
  return { field, title, kind: schema ? kindOf(schema) : 'text' }
}

function requireField(where: string, record: RecordFields, field: string): void {
  if (!record || Object.hasOwn(record, field)) return
  throw new StartError(
    `${where}: the records have no field "${field}"${didYouMean(field, Object.keys(record))}`,
  )
}

type RecordPlace = Place & { readonly key: string; readonly record: RecordFields }

function shownAction(place: RecordPlace, at: number, action: ScreenAction): ShownAction {
  const where = `${place.where}: actions[${at}]`
  checkFields(where, action, ACTION)
  const route = routeAt(place, `actions[${at}]`, action.route)
  if (route.method === 'GET')
    throw new StartError(`${where}: ${route.key} changes nothing: an action is no GET`)
  const { body } = route.spec
  if (body && body.kind !== 'json')
    throw new StartError(
      `${where}: ${route.key} takes no JSON: an action is a route with a JSON body or none`,
    )
  const from = filledBy(place, `actions[${at}]`, route, action.from ?? {})
  const fields = [...fieldsOf(route.spec.query, 'query'), ...fieldsOf(schemaOfBody(body), 'body')]
  const names = [...parametersOf(route), ...fields.map(({ name }) => name)]
  const unknown = Object.keys(from).find((name) => !names.includes(name))
  if (unknown !== undefined)
    throw new StartError(`${where}: from: ${route.key} takes no "${unknown}"${didYouMean(unknown, names)}`)
  return {
    route: route.key,
    title: action.title ?? route.spec.summary,
    danger: action.danger ?? (route.method === 'DELETE' ? 'confirm' : 'none'),
    isOfRecord: Object.keys(from).length > 0,
    from,
    fields,
    isIdempotent: Boolean(route.spec.idempotent),
  }
}

/** What a record fills in: what is declared, and for a parameter of the path the field of its name, or else the key. */
function filledBy(
  { where, record, key }: RecordPlace,
  field: string,
  route: Route,
  declared: Readonly<Record<string, string>>,
): Record<string, string> {
  const parameters = parametersOf(route).map((name) => [name, record && name in record ? name : key] as const)
  const from = { ...Object.fromEntries(parameters), ...declared }
  for (const name of Object.values(from)) requireField(`${where}: ${field}: from`, record, name)
  return from
}
