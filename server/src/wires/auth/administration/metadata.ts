import { invalid } from '../../../base/errors.ts'
import { parseJson } from '../../../base/json.ts'

const METADATA_BYTES_MAX = 16_384

/**
 * Merges a patch into stored metadata at the top level: null removes a field (RFC 7396 merges at every level).
 *
 * @returns JSON text
 * @throws VALIDATION_ERROR if it would exceed 16 KiB
 */
export function mergeMetadata(stored: string, patch: Record<string, unknown>): string {
  const merged = { ...(parseJson(stored) as Record<string, unknown>), ...patch }
  const json = JSON.stringify(
    Object.fromEntries(Object.entries(merged).filter(([, value]) => value !== null)),
  )
  if (Buffer.byteLength(json) > METADATA_BYTES_MAX)
    throw invalid({
      path: '/body/metadata',
      message: `All metadata together may have ${METADATA_BYTES_MAX} bytes as JSON: keep more in the store.`,
    })
  return json
}
