import { Late, openLate } from '../../parts/late.tsx'
import { Pane } from '../../parts/list.tsx'
import { Show, useLoad } from '../../parts/load.tsx'
import { href, Link, place } from '../../parts/router.tsx'
import { canWrite, six } from '../../parts/session.ts'
import { Badge, Text } from '../../parts/text.tsx'
import { sectionsOf, stateOf, wordsOf, type OptionGroup, type ConsoleSettings } from './groups.ts'

const load = (signal: AbortSignal) => six.call('GET /core/settings', { signal })

/** What administrators set while the server runs, in groups; the versions before; and all that is in force. */
export default function SettingsScreen() {
  if (place.value.path[0] === 'all') return <Late load={() => import('./in-force.tsx')} props={{}} />
  return <SettingGroups />
}

function SettingGroups() {
  const settings = useLoad(load, [])
  const [group] = place.value.path
  return (
    <div class={group ? 'screen list with-pane' : 'screen list'}>
      <section class="records" aria-label="Settings">
        <div class="bar">
          <h1 tabIndex={-1}>Settings</h1>
          <Link to={href(['settings', 'all'])}>All settings and where they are from</Link>
        </div>
        <div class="setting-groups" tabIndex={-1}>
          <Show of={settings}>{(value) => <Groups of={value} chosen={group} again={settings.again} />}</Show>
        </div>
      </section>
      {group && settings.value && (
        <Pane at={['settings']} key={`${group} ${settings.value.version}`}>
          <Late
            load={() => import('./group.tsx')}
            props={{ group, settings: settings.value, again: settings.again }}
          />
        </Pane>
      )}
    </div>
  )
}

const Groups = ({
  of: settings,
  chosen,
  again,
}: {
  of: ConsoleSettings
  chosen: string | undefined
  again: () => void
}) => (
  <>
    {settings.fault !== undefined && (
      <p class="notice bad" role="alert">
        <strong>The newest settings are not in force.</strong> <Text>{settings.fault}</Text>
      </p>
    )}
    {!settings.canChange && (
      <p class="notice">They are locked: SIXWIRE_SETTINGS is off. Change them where the server is started.</p>
    )}
    {sectionsOf(settings).map(([section, groups]) => (
      <section key={section} aria-label={section}>
        <h2>{section}</h2>
        <ul class="setting-cards">
          {groups.map((one) => (
            <Card key={one.name} group={one} isChosen={one.name === chosen} />
          ))}
        </ul>
        {section === 'Accounts' && (
          <div class="buttons">
            <button
              type="button"
              disabled={!canWrite.value || !settings.canChange}
              onClick={() => openLate(() => import('./new-provider.tsx'), { settings, again })}
            >
              Add an identity provider
            </button>
          </div>
        )}
      </section>
    ))}
    {settings.versions.length > 0 && (
      <Late load={() => import('./versions.tsx')} props={{ settings, again }} />
    )}
  </>
)

function Card({ group, isChosen }: { group: OptionGroup; isChosen: boolean }) {
  const [, title, about] = wordsOf(group.name)
  const { tone, text } = stateOf(group)
  return (
    <li>
      <Link to={href(['settings', group.name])} current={isChosen}>
        <strong>
          <Text>{title}</Text>
        </strong>{' '}
        <Badge tone={tone}>
          <Text>{text}</Text>
        </Badge>
        <span class="soft">{about}</span>
      </Link>
    </li>
  )
}
