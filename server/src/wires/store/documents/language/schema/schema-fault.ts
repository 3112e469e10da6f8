import { cutPointer } from '../../../../../base/json-pointer.ts'

/** What is wrong with a schema: a sentence that says where. */
export class SchemaFault extends Error {
  /** @param at JSON pointer into the schema */
  constructor(at: string, fault: string) {
    super(at === '' ? fault : `${cutPointer(at)}: ${fault}`)
  }
}
