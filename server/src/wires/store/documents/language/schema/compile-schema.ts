import type { Ajv2020, ValidateFunction } from 'ajv/dist/2020.js'

import { requireModule } from '../../../../../base/asset.ts'
import type { Issue } from '../../../../../base/errors.ts'
import { once } from '../../../../../base/once.ts'
import { oneLine } from '../../../../../base/one-line.ts'
import { StartError } from '../../../../../base/start-error.ts'
import { issuesOf } from '../../../../../http/schema-faults.ts'
import type { JsonObject } from '../query/filter.ts'
import { checkSchema } from './check-schema.ts'
import type * as DocumentAjv from './document-ajv.ts'

const LINE_MAX = 1000

/** How many references of a schema the check of one document follows: 0.3 s at worst. */
const REFERENCES_MAX = 200_000
/** Likewise while all faults are collected. */
const REFERENCES_OF_FAULTS_MAX = 1_000

/** Tells why a document does not fit its schema, as an answer lists it: at most 20 issues, none if it fits. */
export type DocumentCheck = (document: unknown, at?: string) => Issue[]

/**
 * Makes the check of a collection's documents by a schema of JSON Schema 2020-12. The schema is checked at once, and compiled
 * at its first use, because 50 of them would delay a start by more than a tenth of a second.
 *
 * @param schema plain JSON, or of TypeBox
 * @param at the name of the setting, for the error
 * @throws StartError
 */
export function compileSchema(schema: unknown, at: string): DocumentCheck {
  const plain = readSchema(schema, at)
  const first = once(() => compile(loadAjv().firstFault(), plain))
  const all = once(() => compile(loadAjv().allFaults(), plain))
  return (document, at = '/body') => {
    const faults = faultsOf(first(), document, REFERENCES_MAX)
    if (!faults)
      return [{ path: at, message: 'takes too long to check against the schema: nest fewer levels' }]
    if (faults.length === 0) return []
    const every = faultsOf(all(), document, REFERENCES_OF_FAULTS_MAX)
    return issuesOf(at, (every ?? faults).slice(0, loadAjv().FAULTS_MAX))
  }
}

const loadAjv = (): typeof DocumentAjv =>
  requireModule('wires/store/documents/language/schema/document-ajv') as typeof DocumentAjv

function readSchema(schema: unknown, at: string): JsonObject {
  try {
    // What is no JSON, such as TypeBox's marks, has no meaning here.
    const plain: unknown = JSON.parse(JSON.stringify(schema) ?? 'null')
    checkSchema(plain)
    return plain
  } catch (error) {
    throw new StartError(`${at}: ${oneLine((error as Error).message, LINE_MAX)}`)
  }
}

/** @returns those that are certain if there are too many; undefined if the schema has more references to follow */
function faultsOf(check: ValidateFunction, document: unknown, references: number) {
  try {
    check.call({ references } satisfies DocumentAjv.Effort, document)
    return check.errors ?? []
  } catch (error) {
    if (error instanceof loadAjv().EffortError) return error.faults ?? undefined
    throw error
  } finally {
    // They hold the document.
    check.errors = null
  }
}

function compile(ajv: Ajv2020, { $id: _id, $schema: _schema, ...schema }: JsonObject): ValidateFunction {
  const check = ajv.compile(schema)
  // Else it is kept there for ever.
  ajv.removeSchema(schema)
  return check
}
