import { invalid, type ApiError } from '../../../../base/errors.ts'
import { boundedPointer } from '../../../../base/json-pointer.ts'
import type { Logger } from '../../../../base/logger.ts'
import { StartError } from '../../../../base/start-error.ts'
import type { PolicyName } from '../../../../kernel/policy/policy.ts'
import { readCollections, type CollectionSet, type CollectionsOptions } from '../definition/collections.ts'
import type { CollectionDefinition } from '../definition/collection.ts'
import type { CollectionDeclaration } from '../definition/collection-option.ts'
import type { StoredDefinition } from './version-rows.ts'

/** For a definition that cannot be read any more: nobody but an administrator gets what it protects. */
const CLOSED: CollectionDeclaration = { read: 'admin', create: 'admin', update: 'admin', delete: 'admin' }

/** Of the JSON of a schema. It is compiled within half a second. */
const SCHEMA_MAX = 65_536

/** What collections are read with, before any definition that is stored. */
export type Configured = { readonly policy: PolicyName; readonly options: CollectionsOptions }

/**
 * The collections of the configuration and the stored definitions together; the configuration has precedence.
 *
 * @throws StartError for what cannot work
 */
export function readTogether(
  { policy, options }: Configured,
  stored: readonly StoredDefinition[],
): CollectionSet {
  const definitions = stored.map(({ collection, definition }) => [collection, definition] as const)
  return readCollections(policy, {
    ...options,
    collections: { ...Object.fromEntries(definitions), ...options.collections },
  })
}

/**
 * The same at a start, and where another server has changed a definition. One that cannot be read does not keep the server from
 * its work: its collection is closed to all but administrators.
 */
export function readOrClose(
  configured: Configured,
  stored: readonly StoredDefinition[],
  log: Pick<Logger, 'error'>,
): CollectionSet {
  let taken: readonly StoredDefinition[] = stored
  for (let fault = faultOf(configured, taken); fault; fault = faultOf(configured, taken)) {
    const open = taken.filter(({ definition }) => definition !== CLOSED)
    // Without stored definitions there is no fault, or the start would have been refused.
    const culprit = open.find((one) => !faultOf(configured, withClosed(taken, one))) ?? open[0]
    if (!culprit) throw fault
    log.error(
      { collection: culprit.collection },
      `the definition cannot be read, and only administrators use the collection until it is changed: ${fault.message}`,
    )
    taken = withClosed(taken, culprit)
  }
  return readTogether(configured, taken)
}

const withClosed = (stored: readonly StoredDefinition[], culprit: StoredDefinition): StoredDefinition[] =>
  stored.map((one) => (one === culprit ? { ...one, definition: CLOSED } : one))

function faultOf(configured: Configured, stored: readonly StoredDefinition[]): StartError | undefined {
  try {
    readTogether(configured, stored)
    return undefined
  } catch (error) {
    if (error instanceof StartError) return error
    throw error
  }
}

/**
 * Compiles the schema of a definition: a large one would fail, or stop the server for seconds, when the first document comes.
 *
 * @throws VALIDATION_ERROR
 */
export function checkSchemaSize({
  schema,
  validate,
}: Pick<CollectionDefinition, 'schema' | 'validate'>): void {
  const path = '/body/schema'
  if (schema && JSON.stringify(schema).length > SCHEMA_MAX)
    throw invalid({ path, message: `is larger than ${SCHEMA_MAX} characters` })
  try {
    validate?.({})
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
    throw invalid({ path, message: 'has too many properties in one object, or too many levels' })
  }
}

/** What is wrong with a definition, as a fault of the body that it came in. */
export function faultOfBody({ message }: StartError, collection: string): ApiError {
  const prefix = `store.collections.${collection}`
  if (!message.startsWith(prefix)) return invalid({ path: '/body', message })
  const end = message.indexOf(': ', prefix.length)
  const keys = message
    .slice(prefix.length, end)
    .split(/[.[\]]/)
    .filter((key) => key !== '')
  return invalid({ path: boundedPointer('/body', keys), message: message.slice(end + 2) })
}
