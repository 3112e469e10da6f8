// compile.ts loads this when a schema is first used.
import {
  _,
  Ajv2020,
  str,
  type CodeKeywordDefinition,
  type ErrorObject,
  type KeywordCxt,
  type Options,
} from 'ajv/dist/2020.js'

import { once } from '../../../../../base/once.ts'
import { FORMATS } from './formats.ts'
import { isMultipleOf } from './multiple-of.ts'
import { compilePattern } from './schema-patterns.ts'
import { areUnique } from './unique-items.ts'

const SETTINGS: Options = {
  // The schemas are checked.
  strict: false,
  meta: false,
  validateSchema: false,
  logger: false,
  formats: FORMATS,
  // A field may have the name of what every object inherits.
  ownProperties: true,
  // The effort of one check.
  passContext: true,
  verbose: true,
  code: {
    // V8 does that as well.
    optimize: false,
    regExp: Object.assign(
      // Ajv takes patterns with one text as one.
      (pattern: string) => ({ test: compilePattern(pattern), toString: () => pattern }),
      { code: 'compilePattern' },
    ),
  },
}

/** What one check may do: `this` of a check. */
export type Effort = { references: number }

/** Thrown by a check that follows more references than its effort has left, or has enough faults. */
export class EffortError extends Error {
  /** Those that were found, if they are certain. */
  readonly faults: readonly ErrorObject[] | null
  constructor(faults: readonly ErrorObject[] | null = null) {
    super()
    this.faults = faults
  }
}

/** About so many faults are collected: each alternative of each level may have had some. */
export const FAULTS_MAX = 1_000

/** The keywords that ask a schema of as many values as an array or object has. */
const OF_MANY = ['items', 'additionalProperties', 'patternProperties', 'propertyNames']

/** Compiles to checks that stop at the first fault. */
export const firstFault = once(() => createAjv({ ...SETTINGS, allErrors: false }))

/** Compiles to checks that collect all faults, up to about `FAULTS_MAX`: of a large document there could be more than fit into memory. */
export const allFaults = once(() => {
  const ajv = createAjv({ ...SETTINGS, allErrors: true })
  for (const name of OF_MANY) {
    const keyword = ajv.getKeyword(name) as CodeKeywordDefinition
    ajv.removeKeyword(name).addKeyword(withFaultLimit(keyword))
  }
  return ajv
})

function createAjv(settings: Options): Ajv2020 {
  const ajv = new Ajv2020(settings)
  // For keywords that no schema here has, Ajv would note which fields were asked: in code that fails with `allErrors` where
  // `oneOf` stands beside `patternProperties`.
  ajv.opts.unevaluated = false
  const contains = ajv.getKeyword('contains') as CodeKeywordDefinition
  const reference = ajv.getKeyword('$ref') as CodeKeywordDefinition
  return ajv
    .removeKeyword('$ref')
    .addKeyword(withEffort(reference))
    .removeKeyword('multipleOf')
    .addKeyword({
      keyword: 'multipleOf',
      type: 'number',
      schemaType: 'number',
      validate: isMultipleOf,
      error: { message: ({ schemaCode }) => str`must be multiple of ${schemaCode}` },
      errors: false,
    })
    .removeKeyword('uniqueItems')
    .addKeyword({
      keyword: 'uniqueItems',
      type: 'array',
      schemaType: 'boolean',
      validate: (isOn: boolean, elements: readonly unknown[]) => !isOn || areUnique(elements),
      error: { message: 'must not have equal elements' },
      errors: false,
    })
    .removeKeyword('contains')
    .addKeyword(withoutInnerFaults(contains))
}

/** Ajv would keep the faults of each element of which `contains` is asked. */
const withoutInnerFaults = (contains: CodeKeywordDefinition): CodeKeywordDefinition => ({
  ...contains,
  code(context) {
    const subschema = context.subschema.bind(context)
    context.subschema = (...values) => {
      const inner = subschema(...values)
      context.reset()
      return inner
    }
    contains.code(context)
  },
})

/** Ends the check. What an alternative has found is certain only once all alternatives are known. */
function throwEffort({ gen, it }: KeywordCxt): void {
  const error = gen.scopeValue('func', { ref: EffortError })
  const isCertain = !it.compositeRule && it.schemaEnv === it.schemaEnv.root
  gen.throw(isCertain ? _`new ${error}(vErrors)` : _`new ${error}()`)
}

/** Ends the check where enough is wrong. */
const withFaultLimit = (keyword: CodeKeywordDefinition): CodeKeywordDefinition => ({
  ...keyword,
  code(context) {
    const [subschema, report] = [context.subschema.bind(context), context.error.bind(context)]
    const limit = () => context.gen.if(_`errors > ${FAULTS_MAX}`, () => throwEffort(context))
    context.subschema = (...values) => {
      limit()
      return subschema(...values)
    }
    context.error = (...values) => {
      report(...values)
      limit()
    }
    keyword.code(context)
  },
})

/**
 * Where a schema refers to itself in two alternatives, each level of a document would double the time: 64 levels have no end.
 */
const withEffort = (reference: CodeKeywordDefinition): CodeKeywordDefinition => ({
  ...reference,
  code(context) {
    context.gen.if(_`this.references-- < 1`, () => throwEffort(context))
    reference.code(context)
  },
})
