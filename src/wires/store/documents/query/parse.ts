import type { ApiError } from '../../../../base/errors.ts'
import { pointerTo } from '../../../../base/json-pointer.ts'
import { parseStrictJson } from '../../../../base/json.ts'
import { and, or, type FilterTree, type Json, type Pattern } from './filter.ts'
import {
  atPath,
  isObject,
  isOperators,
  joins,
  operators,
  refused,
  type Condition,
  type JsonObject,
  type Parser,
} from './operators.ts'
import { countIndexes, MAX_INDEXES, parsePath, quote } from './path.ts'
import { MAX_PATTERN_COST, MAX_PATTERN_LENGTH } from './pattern.ts'

const AT = '/query/filter'
const MAX_LENGTH = 16_384
const MAX_DEPTH = 20
const MAX_CLAUSES = 200
// Room for a value as deep as a document can be, inside of as many operators as there can be.
const MAX_LEVELS = 256

/**
 * Reads a filter in MongoDB's query language (https://www.mongodb.com/docs/manual/reference/operator/query/).
 *
 * @param text JSON as it stands in the request
 * @throws VALIDATION_ERROR whose path leads to the fault: `/query/filter/$or/0/age/$gt`
 */
export function parseFilter(text: string): FilterTree {
  if (text.length > MAX_LENGTH) throw refused(AT, `A filter has at most ${MAX_LENGTH} characters.`)
  const value = parseStrictJson(text, { at: AT, maxDepth: MAX_LEVELS, takesRounded: true, takesAnyKey: true })
  return new Reader().filter(value, AT, 0)
}

class Reader implements Parser {
  #clauses = 0
  /** In the paths that lead to where it reads: of `$elemMatch` inside of others, the ways multiply. */
  #indexes = 0
  #patternCost = 0
  #patternLength = 0

  /** Counts one more operator, so that no filter costs more than the server is ready to pay. */
  count(at: string, depth: number): void {
    if (++this.#clauses > MAX_CLAUSES) throw refused(at, `A filter has at most ${MAX_CLAUSES} conditions.`)
    if (depth > MAX_DEPTH) throw refused(at, `Operators nest at most ${MAX_DEPTH} levels deep.`)
  }

  /** One pattern may cost what all may cost together. */
  countPattern({ cost, expression }: Pattern, at: string): void {
    this.#patternCost += cost
    this.#patternLength += expression.length
    if (this.#patternCost > MAX_PATTERN_COST || this.#patternLength > MAX_PATTERN_LENGTH)
      throw refused(
        at,
        'The patterns of this filter are too large together: use fewer, lower counts, or fewer classes.',
      )
  }

  filter(value: unknown, at: string, depth: number): FilterTree {
    if (!isObject(value)) throw refused(at, 'A filter is an object, for example {"age": {"$gte": 18}}.')
    const of = Object.entries(value).map(([key, operand]) =>
      key.startsWith('$')
        ? this.#join(key, operand, pointerTo(at, key), depth)
        : this.#field(key, operand, pointerTo(at, key), depth),
    )
    return and(of)
  }

  #join(name: string, operand: Json, at: string, depth: number): FilterTree {
    const join = joins.find((one) => one === name)
    if (!join) throw unknownOperator(name, at, joins)
    this.count(at, depth)
    if (!Array.isArray(operand) || operand.length === 0)
      throw refused(at, `${name} takes an array of at least one filter.`)
    const of = operand.map((item: Json, i) => this.filter(item, pointerTo(at, i), depth + 1))
    if (join === '$and') return and(of)
    return join === '$or' ? or(of) : { kind: 'not', of: or(of) }
  }

  #field(key: string, operand: Json, at: string, depth: number): FilterTree {
    const path = parsePath(key, at)
    const indexes = countIndexes(path)
    if (this.#indexes + indexes > MAX_INDEXES)
      throw refused(at, `Paths inside of one another have at most ${MAX_INDEXES} numeric parts together.`)
    if (isOperators(operand)) {
      this.#indexes += indexes
      const condition = this.operators(operand, at, depth)
      this.#indexes -= indexes
      return atPath(path, condition)
    }
    this.count(at, depth)
    return { kind: 'field', path, test: { kind: 'in', values: [operand] } }
  }

  /** Several operators on a field must all be met. */
  operators(siblings: JsonObject, at: string, depth: number): Condition {
    const of = Object.entries(siblings).map(([name, operand]) => {
      const here = pointerTo(at, name)
      const operator = Object.hasOwn(operators, name) ? operators[name] : undefined
      if (!operator) throw unknownOperator(name, here, Object.keys(operators))
      this.count(here, depth)
      return operator(operand, { parser: this, at: here, depth, siblings })
    })
    return { kind: 'and', of }
  }
}

function unknownOperator(name: string, at: string, known: readonly string[]): ApiError {
  return refused(at, `The operator ${quote(name)} is not supported here; these are: ${known.join(' ')}.`)
}
