import { confirm } from '../../parts/dialog.tsx'
import { Show, useLoad } from '../../parts/load.tsx'
import { canWrite, six } from '../../parts/session.ts'
import { changeSettings } from '../../parts/settings.ts'
import { toast } from '../../parts/toast.tsx'

/** Removes a webhook that was added here; those of the configuration are removed there. */
export default function StoredWebhook({ name, again }: { name: string; again: () => void }) {
  const settings = useLoad((signal) => six.call('GET /core/settings', { signal }), [name])
  const option = `webhooks.${name}`
  const remove = (version: number): void =>
    confirm({
      title: `Remove ${name}?`,
      children: <p>Events are not sent to it any more.</p>,
      verb: 'Remove',
      act: async () => {
        await changeSettings({ [option]: null }, { version })
        toast(`${name} is removed.`)
        again()
      },
    })
  return (
    <Show of={settings}>
      {({ options, version, canChange }) =>
        options.some((one) => one.option === option) ? (
          <div class="buttons">
            <button type="button" disabled={!canWrite.value || !canChange} onClick={() => remove(version)}>
              Remove…
            </button>
          </div>
        ) : (
          <p class="soft">It is set in the configuration.</p>
        )
      }
    </Show>
  )
}
