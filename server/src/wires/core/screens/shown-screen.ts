import type { Danger } from '../../../kernel/wire/screen.ts'

/** How a value is shown and entered. */
export type FieldKind = 'text' | 'number' | 'boolean' | 'time' | 'email' | 'choice' | 'json'

/** A field of a form, or a filter. */
export type ShownField = {
  name: string
  in: 'path' | 'query' | 'body'
  title: string
  kind: FieldKind
  isRequired: boolean
  description?: string
  /** The values of a choice. */
  options?: string[]
  /** Of a number the least and the greatest, of a text the greatest length. */
  minimum?: number
  maximum?: number
  maxLength?: number
  default?: unknown
}

/** An action with its form. */
export type ShownAction = {
  route: string
  title: string
  danger: Danger
  /** Whether it belongs to a record. */
  isOfRecord: boolean
  /** Fields that the record fills in, by the names of its fields. */
  from: Record<string, string>
  fields: ShownField[]
  isIdempotent: boolean
}

/** A screen with what the routes say about it. */
export type ShownScreen = {
  wire: string
  name: string
  title: string
  list: string
  rows: string
  /** The field that identifies a record. */
  key: string
  isPaged: boolean
  filters: ShownField[]
  columns: { field: string; title: string; kind: FieldKind }[]
  detail?: { route: string; from: Record<string, string> }
  actions: ShownAction[]
}
