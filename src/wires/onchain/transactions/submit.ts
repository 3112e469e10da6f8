import type { WireContext } from '../../../kernel/wire.ts'
import type { Confirmations } from './confirmations.ts'
import type { Submit } from './intent.ts'
import type { Lines } from './line.ts'

/** Makes `submit`. */
export function createSubmit(
  _context: WireContext,
  _options: { lines: Pick<Lines, 'wakeSql'>; confirmations: Pick<Confirmations, 'followSql'> },
): Submit {
  return () => Promise.reject(new Error('not built yet'))
}
