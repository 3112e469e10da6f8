import { StartError } from '../base/start-error.ts'

/** An option of a command. Help, completion and the check of arguments read nothing but these. */
export type Option = {
  /** A few words, after the option in its help. */
  description: string
  /** The placeholder of the value in help: `N`, `FILE`. Without it the option is a switch. */
  value?: string
  /** The text of the value if the option is left out. */
  default?: string
  /** Whether it may be repeated. */
  multiple?: boolean
  /** Reads the text of a value. @throws StartError or UsageError with the name */
  read?: (text: string, name: string) => unknown
}
export type Options = Readonly<Record<string, Option>>

/** What a command gets for its options: a switch is a boolean, a value is what `read` makes of it, or its text. */
export type Values<O extends Options> = { readonly [Name in keyof O]: ValueOf<O[Name]> }
type ValueOf<O extends Option> = O extends { value: string }
  ? O extends { multiple: true }
    ? readonly Single<O>[]
    : O extends { default: string }
      ? Single<O>
      : Single<O> | undefined
  : boolean
type Single<O extends Option> = O extends { read: (text: string, name: string) => infer Value }
  ? Value
  : string

/** Reads a whole number of an option. */
export const wholeNumber =
  (min = 0) =>
  (text: string, name: string): number => {
    if (!/^\d{1,9}$/.test(text) || Number(text) < min)
      throw new StartError(`${name} takes a whole number${min > 0 ? ` of at least ${min}` : ''}`)
    return Number(text)
  }

/** Every command that lists or shows something has it. */
export const JSON_OPTION = { json: { description: 'print one JSON document instead' } } as const

/** The options of a list that is read in pages. */
export const PAGE_OPTIONS = {
  limit: { value: 'N', description: 'how many', default: '50', read: wholeNumber(1) },
  offset: { value: 'N', description: 'how many to skip', default: '0', read: wholeNumber() },
} as const
