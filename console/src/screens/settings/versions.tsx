import { useState } from 'preact/hooks'

import { confirm } from '../../parts/dialog.tsx'
import { messageOf } from '../../parts/load.tsx'
import { canWrite } from '../../parts/session.ts'
import { checksOf, restoreSettings, type SettingCheck } from '../../parts/settings.ts'
import { Text, Time } from '../../parts/text.tsx'
import { toast } from '../../parts/toast.tsx'
import type { ConsoleSettings } from './groups.ts'
import { Refused } from './refused.tsx'

/** The versions of the settings, and the way back to one. */
export default function SettingsVersions({
  settings,
  again,
}: {
  settings: ConsoleSettings
  again: () => void
}) {
  const [refused, setRefused] = useState<{ version: number; checks: readonly SettingCheck[] }>()
  async function goBack(version: number, force = false): Promise<void> {
    setRefused(undefined)
    try {
      await restoreSettings(version, { force })
      toast(`The settings are those of version ${version}.`)
      again()
    } catch (error) {
      const checks = checksOf(error)
      if (checks.length === 0) throw error
      setRefused({ version, checks })
    }
  }
  const goBackNevertheless = (version: number): void =>
    void goBack(version, true).catch((error: unknown) => toast(messageOf(error), { tone: 'bad' }))
  const restore = (version: number): void =>
    confirm({
      title: `Go back to version ${version}?`,
      children: <p>What was set after it is as it was then. The versions between stay.</p>,
      verb: 'Go back',
      act: () => goBack(version),
    })
  return (
    <details class="setting-versions">
      <summary>Versions</summary>
      {refused && <Refused checks={refused.checks} act={() => goBackNevertheless(refused.version)} />}
      <ul>
        {settings.versions.map(({ version, changed, createdAt }) => (
          <li key={version}>
            <strong>{version}</strong> <Time at={createdAt} /> <Text>{changed.join(', ')}</Text>{' '}
            {version === settings.version ? (
              <span class="soft">now</span>
            ) : (
              <button
                type="button"
                class="small"
                disabled={!canWrite.value || !settings.canChange}
                onClick={() => restore(version)}
              >
                Go back
              </button>
            )}
          </li>
        ))}
      </ul>
    </details>
  )
}
