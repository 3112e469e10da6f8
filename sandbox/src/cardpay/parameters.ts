import { invalidParameter, StripeError } from './errors.ts'

const PAIRS_MAX = 5_000
const DEPTH_MAX = 8
const TEXT_MAX = 5_000
const NAME = /^[^[\]]{1,100}(\[[^[\]]{0,100}\])*$/
const WHOLE = /^-?\d{1,15}$/

type Tree = Map<string, string | Tree>

/** Reads `line_items[0][price_data][currency]=eur` into maps of maps; `expand[]=a` takes the next index. */
function treeOf(form: URLSearchParams): Tree {
  if (form.size > PAIRS_MAX) throw new StripeError(400, `The request has more than ${PAIRS_MAX} parameters.`)
  const root: Tree = new Map()
  for (const [name, value] of form) {
    if (!NAME.test(name) || value.includes('\0'))
      throw invalidParameter(name.slice(0, 100), `Invalid parameter: ${name.slice(0, 100)}`)
    const [first = '', ...rest] = name.split(/\[|\]\[|\]$/).slice(0, name.includes('[') ? -1 : undefined)
    if (rest.length > DEPTH_MAX)
      throw invalidParameter(first, `Invalid parameter: ${first} is nested too deep`)
    let tree = root
    let key = first
    for (const next of rest) {
      const child = tree.get(key) ?? new Map()
      if (typeof child === 'string') throw invalidParameter(first, `Invalid hash: ${first}`)
      tree.set(key, child)
      tree = child
      key = next === '' ? String(child.size) : next
    }
    if (tree.get(key) instanceof Map) throw invalidParameter(first, `Invalid string: ${first}`)
    tree.set(key, value)
  }
  return root
}

/**
 * The parameters of a call, as Stripe's clients write them. Each method reads one; `end` refuses those that were not read.
 *
 * All of them throw a StripeError that names the parameter.
 */
export class StripeParameters {
  readonly #tree: Tree
  readonly #path: string
  readonly #read = new Set<string>()
  readonly #children: StripeParameters[] = []

  constructor(from: URLSearchParams | Tree, path = '') {
    this.#tree = from instanceof URLSearchParams ? treeOf(from) : from
    this.#path = path
  }

  /** The full name of a parameter: `line_items[0][quantity]`. */
  name(key: string): string {
    return this.#path === '' ? key : `${this.#path}[${key}]`
  }

  #take(key: string): string | Tree | undefined {
    this.#read.add(key)
    return this.#tree.get(key)
  }

  /** A text; undefined if it is absent or empty, which unsets a parameter. */
  text(key: string, max = TEXT_MAX): string | undefined {
    const value = this.#take(key)
    if (value === undefined || value === '') return undefined
    if (typeof value !== 'string') throw invalidParameter(this.name(key), `Invalid string: ${this.name(key)}`)
    if (value.length > max)
      throw invalidParameter(
        this.name(key),
        `Invalid string: ${value.slice(0, 20)}...; must be at most ${max} characters`,
      )
    return value
  }

  requiredText(key: string, max = TEXT_MAX): string {
    const value = this.text(key, max)
    if (value !== undefined) return value
    const name = this.name(key)
    throw this.#tree.has(key)
      ? invalidParameter(
          name,
          `You passed an empty string for '${name}'; it cannot be unset.`,
          'parameter_invalid_empty',
        )
      : invalidParameter(name, `Missing required param: ${name}.`, 'parameter_missing')
  }

  integer(key: string, { least = 0, most = Number.MAX_SAFE_INTEGER } = {}): number | undefined {
    const text = this.text(key)
    if (text === undefined) return undefined
    const value = WHOLE.test(text) ? Number(text) : Number.NaN
    if (!Number.isSafeInteger(value))
      throw invalidParameter(
        this.name(key),
        `Invalid integer: ${text.slice(0, 40)}`,
        'parameter_invalid_integer',
      )
    if (value < least || value > most)
      throw invalidParameter(
        this.name(key),
        value < least
          ? `This value must be greater than or equal to ${least}.`
          : `This value must be less than or equal to ${most}.`,
        'parameter_invalid_integer',
      )
    return value
  }

  boolean(key: string): boolean | undefined {
    const text = this.text(key)
    if (text === undefined || text === 'true' || text === 'false')
      return text === undefined ? text : text === 'true'
    throw invalidParameter(this.name(key), `Invalid boolean: ${text.slice(0, 40)}`)
  }

  choice<const T extends string>(key: string, values: readonly T[]): T | undefined {
    const text = this.text(key)
    if (text === undefined || values.includes(text as T)) return text as T | undefined
    throw invalidParameter(this.name(key), `Invalid ${this.name(key)}: must be one of ${values.join(', ')}`)
  }

  /** An absolute http or https URL. */
  url(key: string): string | undefined {
    const text = this.text(key)
    if (text === undefined) return undefined
    if (!URL.canParse(text) || !/^https?:$/.test(new URL(text).protocol))
      throw invalidParameter(this.name(key), 'Not a valid URL', 'url_invalid')
    return text
  }

  /** The parameters below a name. */
  child(key: string): StripeParameters | undefined {
    const value = this.#take(key)
    if (value === undefined || value === '') return undefined
    if (typeof value === 'string') throw invalidParameter(this.name(key), `Invalid object`)
    const child = new StripeParameters(value, this.name(key))
    this.#children.push(child)
    return child
  }

  /** The items of a list of objects, in their order. */
  children(key: string): StripeParameters[] {
    const list = this.child(key)
    if (!list) return []
    return [...list.#tree.keys()]
      .toSorted((a, b) => Number(a) - Number(b))
      .map((index) => {
        const child = list.child(index)
        if (child) return child
        throw invalidParameter(list.name(index), 'Invalid object')
      })
  }

  /** The items of a list of texts. */
  texts(key: string): string[] {
    const list = this.child(key)
    return list ? [...list.#tree.keys()].map((index) => list.requiredText(index)) : []
  }

  /** https://docs.stripe.com/api/metadata */
  metadata(key = 'metadata'): Record<string, string> {
    const tree = this.child(key)
    if (!tree) return {}
    const names = [...tree.#tree.keys()]
    if (names.length > 50) throw invalidParameter(this.name(key), 'You can only have 50 metadata keys.')
    const long = names.find((name) => name.length > 40)
    if (long !== undefined)
      throw invalidParameter(tree.name(long), 'Metadata keys can be at most 40 characters long.')
    return Object.fromEntries(
      names.flatMap((name) => {
        const text = tree.text(name, 500)
        return text === undefined ? [] : [[name, text]]
      }),
    )
  }

  /** Takes parameters that make no difference here. */
  ignore(...keys: string[]): void {
    for (const key of keys) this.#read.add(key)
  }

  /** @throws StripeError for a parameter that was not read */
  end(): void {
    for (const key of this.#tree.keys())
      if (!this.#read.has(key))
        throw invalidParameter(
          this.name(key),
          `Received unknown parameter: ${this.name(key)}`,
          'parameter_unknown',
        )
    for (const child of this.#children) child.end()
  }
}
