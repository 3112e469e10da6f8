// The threads of SQLite load this: see `sqliteFunctions` in kernel/wire/wire.ts.
import { filterFunctions } from './filter-functions.ts'
import { previewFunctions } from './preview-functions.ts'
import { sortFunctions } from './sort-functions.ts'

/** What queries of documents call on SQLite. */
export const functions = { ...filterFunctions, ...sortFunctions, ...previewFunctions }
