// The threads of SQLite load this.
import { previewOf } from '../../preview/preview.ts'

export const previewFunctions = { store_preview: previewOf }
