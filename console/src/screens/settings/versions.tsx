import { confirm, withProof } from '../../parts/dialog.tsx'
import { canWrite, six } from '../../parts/session.ts'
import { Text, Time } from '../../parts/text.tsx'
import { toast } from '../../parts/toast.tsx'
import type { ConsoleSettings } from './groups.ts'

/** The versions of the settings, and the way back to one. */
export default function SettingsVersions({
  settings,
  again,
}: {
  settings: ConsoleSettings
  again: () => void
}) {
  const restore = (version: number): void =>
    confirm({
      title: `Go back to version ${version}?`,
      children: <p>What was set after it is as it was then. The versions between stay.</p>,
      verb: 'Go back',
      act: async () => {
        await withProof(() =>
          six.call('POST /core/settings/versions/:version/restore', { params: { version: String(version) } }),
        )
        toast(`The settings are those of version ${version}.`)
        again()
      },
    })
  return (
    <details class="setting-versions">
      <summary>Versions</summary>
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
