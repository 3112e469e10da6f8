import { invalid, type ApiError, type Issue } from '../../../../base/errors.ts'
import { boundedPointer } from '../../../../base/json-pointer.ts'
import { once } from '../../../../base/once.ts'
import { StartError } from '../../../../base/start-error.ts'
import { createValidation } from '../../../../http/validation.ts'
import type { PolicyName } from '../../../../kernel/policy/policy.ts'
import type { CollectionDefinition } from '../definition/collection.ts'
import { readCollections, type CollectionSet, type CollectionsOptions } from '../definition/collections.ts'
import type { CollectionDeclaration } from '../definition/collection-option.ts'
import { compileSchema } from '../language/schema/compile-schema.ts'
import { DefinitionFields } from './definition-body.ts'
import type { StoredDefinition } from './version-rows.ts'

/** For a definition that cannot be read any more: nobody but an administrator gets what it protects. */
const CLOSED = { read: 'admin', create: 'admin', update: 'admin', delete: 'admin' } as const

/** Of the JSON of a schema. It is compiled within half a second. */
const SCHEMA_MAX = 65_536

/** What collections are read with, before any definition that is stored. */
export type Configured = { readonly policy: PolicyName; readonly options: CollectionsOptions }

/** The collections, and why those are closed to all but administrators whose stored definition cannot be read. */
export type ReadDefinitions = {
  readonly set: CollectionSet
  readonly faults: ReadonlyMap<string, string>
}

/**
 * The collections of the configuration and the stored definitions together; the configuration has precedence. A stored definition
 * that cannot be read does not keep the server from its work: the option that is at fault is left out, and the collection is closed.
 *
 * @param mayFault whether a stored definition may be at fault; default: each
 * @throws StartError if one is at fault that may not be
 */
export function readTogether(
  configured: Configured,
  stored: readonly StoredDefinition[],
  mayFault: (collection: string) => boolean = () => true,
): ReadDefinitions {
  const definitions = new Map(stored.map((one) => [one.collection, one.definition]))
  const faults = new Map<string, string>()
  for (;;)
    try {
      const { policy, options } = configured
      for (const [name, definition] of definitions)
        if (!Object.hasOwn(options.collections, name)) checkDefinition(name, definition)
      const collections = { ...Object.fromEntries(definitions), ...options.collections }
      const set = readCollections(policy, { ...options, collections })
      return { set: takingBoth(set, stored, faults), faults }
    } catch (error) {
      if (!(error instanceof StartError)) throw error
      const { collection = '', option = '' } = placeOf(error) ?? {}
      const definition = definitions.get(collection)
      if (!definition || !mayFault(collection)) throw error
      if (!faults.has(collection)) faults.set(collection, error.message)
      if (definition === CLOSED) definitions.delete(collection)
      else definitions.set(collection, closeRules(definition, option))
    }
}

const checkFields = once(() => createValidation()('body', DefinitionFields))

/** Those of files and archives may have what no request can send. @throws StartError */
function checkDefinition(name: string, definition: CollectionDeclaration): void {
  const at = `store.collections.${name}`
  const checked = checkFields()(definition)
  if ('error' in checked) {
    const { path, message } = ((checked.error as ApiError).details!['issues'] as [Issue])[0]
    throw new StartError(`${at}${path.replace('/body', '').replaceAll('/', '.')}: ${message}`)
  }
  if (definition.schema && JSON.stringify(definition.schema).length > SCHEMA_MAX)
    throw new StartError(`${at}.schema: is larger than ${SCHEMA_MAX} characters`)
}

/** The collections of which documents may fit another schema instead. */
function takingBoth(
  set: CollectionSet,
  stored: readonly StoredDefinition[],
  faults: ReadonlyMap<string, string>,
): CollectionSet {
  const declared = new Map(set.declared)
  for (const { collection, alsoFits } of stored) {
    const definition = declared.get(collection)
    if (!alsoFits || !definition?.validate || faults.has(collection)) continue
    const { validate } = definition
    const other = compileSchema(alsoFits, `store.collections.${collection}.schema`)
    declared.set(collection, {
      ...definition,
      validate(document, at) {
        const issues = validate(document, at)
        return issues.length > 0 && other(document, at).length === 0 ? [] : issues
      },
    })
  }
  return { ...set, declared }
}

/**
 * The definition with the option at fault removed and all rules set to `admin`. Relations, files and unique fields stay, because
 * they protect data.
 */
function closeRules(definition: CollectionDeclaration, option: string): CollectionDeclaration {
  const others = Object.entries(definition).filter(([name]) => name !== option && name !== 'showTo')
  // A fault of no option, or of several, takes all of them.
  if (option === '' || definition.read === CLOSED.read) return CLOSED
  return { ...Object.fromEntries(others), ...CLOSED }
}

/** What a collection is to be defined as; null: not any more. */
export type ChangedDefinition = {
  readonly collection: string
  readonly definition: CollectionDeclaration | null
}

/**
 * The collections with changes of some.
 *
 * @throws StartError if what is at fault then was not before
 */
export function readChanged(
  configured: Configured,
  stored: readonly StoredDefinition[],
  changes: readonly ChangedDefinition[],
): CollectionSet {
  const { faults } = readTogether(configured, stored)
  const names = new Set(changes.map(({ collection }) => collection))
  const next = [
    ...stored.filter(({ collection }) => !names.has(collection)),
    ...changes.flatMap(({ collection, definition }) => (definition ? [{ collection, definition }] : [])),
  ]
  return readTogether(configured, next, (name) => !names.has(name) && faults.has(name)).set
}

/** Where in the collections a fault is, as its message begins. */
function placeOf({ message }: StartError) {
  return /^store\.collections\.(?<collection>[\w-]+)(?:\.(?<option>\w+))?/.exec(message)?.groups
}

/** Whether a collection is at fault. */
export const isFaultOf = (error: StartError, collection: string): boolean =>
  placeOf(error)?.['collection'] === collection

/**
 * Compiles the schema of a definition: a large one would fail, or stop the server for seconds, when the first document comes.
 *
 * @param at where the definition is in the request
 * @throws VALIDATION_ERROR
 */
export function checkSchemaCompiles({ validate }: Pick<CollectionDefinition, 'validate'>, at: string): void {
  try {
    validate?.({})
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
    throw invalid({
      path: `${at}/schema`,
      message: 'has too many properties in one object, or too many levels',
    })
  }
}

/**
 * What is wrong with a definition of a collection, as a fault of the request.
 *
 * @param at where the definition is in the request
 */
export function faultOfRequest({ message }: StartError, collection: string, at: string): ApiError {
  const begin = `store.collections.${collection}`.length
  const end = message.indexOf(': ', begin)
  const keys = message
    .slice(begin, end)
    .split(/[.[\]]/)
    .filter((key) => key !== '')
  return invalid({ path: boundedPointer(at, keys), message: message.slice(end + 2) })
}
