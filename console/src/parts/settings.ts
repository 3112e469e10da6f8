import { isError } from '../../../client/src/index.ts'
import { withProof } from './dialog.tsx'
import { six } from './session.ts'

/** A provider that did not answer as it should with settings that are to be saved. */
export type SettingCheck = { check: string; fault: string }

/** How often, in milliseconds, and how many times it is asked whether settings are in force. */
const LOOK_MS = 300
const LOOKS = 60

/**
 * Changes options, and resolves when the server works with them.
 *
 * @param values by options; null: as if it had never been set
 * @param change.version as it was read; default: the newest one
 * @throws CallError, of which `checksOf` says which provider does not answer
 */
export async function changeSettings(
  values: Record<string, unknown>,
  { version, force = false }: { version?: number; force?: boolean } = {},
): Promise<void> {
  const body = { version: version ?? (await six.call('GET /core/settings', {})).version, values }
  await untilInForce(await withProof(() => six.call('PATCH /core/settings', { query: { force }, body })))
}

/** The same for all options at once. */
export async function restoreSettings(version: number, { force = false } = {}): Promise<void> {
  const params = { version: String(version) }
  await untilInForce(
    await withProof(() =>
      six.call('POST /core/settings/versions/:version/restore', { params, query: { force } }),
    ),
  )
}

/** What kept settings from being saved, if that was a provider. */
export const checksOf = (error: unknown): readonly SettingCheck[] =>
  isError(error, 'SETTINGS_REFUSED') ? (error.details as { checks: SettingCheck[] }).checks : []

/** With the sandbox a server answers again only after a moment. */
async function untilInForce(changed: { version: number; inForce: boolean }): Promise<void> {
  if (changed.inForce) return
  for (let look = 0; look < LOOKS; look++) {
    const now = await six.call('GET /core/settings', {})
    if (now.fault !== undefined) throw new Error(now.fault)
    if (now.inForce && now.version >= changed.version) return
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS))
  }
}
