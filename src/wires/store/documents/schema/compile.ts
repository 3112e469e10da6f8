import type { Ajv2020, ValidateFunction } from 'ajv/dist/2020.js'

import { requireModule } from '../../../../base/asset.ts'
import type { Issue } from '../../../../base/errors.ts'
import { once } from '../../../../base/once.ts'
import { oneLine } from '../../../../base/one-line.ts'
import { StartError } from '../../../../base/start-error.ts'
import { isSmall, issuesOf } from '../../../../http/schema-faults.ts'
import type { JsonObject } from '../query/filter.ts'
import { checkSchema } from './check.ts'
import type * as DocumentAjv from './document-ajv.ts'

const LINE_MAX = 1000

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
    const faults = faultsOf(first(), document)
    if (faults.length === 0) return []
    // Of a large document there could be more faults than fit into memory.
    return issuesOf(at, isSmall(document) ? faultsOf(all(), document) : faults)
  }
}

const loadAjv = (): typeof DocumentAjv =>
  requireModule('wires/store/documents/schema/document-ajv') as typeof DocumentAjv

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

function faultsOf(check: ValidateFunction, document: unknown) {
  check(document)
  const { errors } = check
  // They hold the document.
  check.errors = null
  return errors ?? []
}

function compile(ajv: Ajv2020, { $id: _id, $schema: _schema, ...schema }: JsonObject): ValidateFunction {
  const check = ajv.compile(schema)
  // Else it is kept there for ever.
  ajv.removeSchema(schema)
  return check
}
