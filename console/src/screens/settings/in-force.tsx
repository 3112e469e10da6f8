import type { Api } from '../../../../client/src/index.ts'
import { List } from '../../parts/list.tsx'
import { place } from '../../parts/router.tsx'
import { six } from '../../parts/session.ts'
import { Badge, Facts, Json, Text } from '../../parts/text.tsx'

type Setting = Api['GET /core/config']['reply']['settings'][number]

const DEFAULT = 'default'

const textOf = (value: unknown): string =>
  value === null || value === undefined ? '–' : typeof value === 'string' ? value : JSON.stringify(value)

async function loadSettings({ signal }: { signal: AbortSignal }) {
  const { settings } = await six.call('GET /core/config', { signal })
  const q = (place.value.query.get('q') ?? '').toLowerCase()
  const from = place.value.query.get('from') ?? ''
  const isShown = ({ option, variable, value, source }: Setting): boolean =>
    (from === '' || (source === DEFAULT) === (from === DEFAULT)) &&
    `${option} ${variable ?? ''} ${textOf(value)} ${source}`.toLowerCase().includes(q)
  return { rows: settings.filter(isShown) }
}

const Source = ({ of: source }: { of: string }) => (
  <Badge tone={source === DEFAULT ? 'plain' : 'good'}>
    <Text>{source}</Text>
  </Badge>
)

/** All that is in force, and where each value is from. */
export default function SettingsInForce() {
  return (
    <List<Setting>
      title="All settings"
      at={['settings', 'all']}
      idOf={({ option }) => option}
      load={loadSettings}
      filters={[
        { kind: 'search', name: 'q', label: 'Option, variable or value' },
        {
          kind: 'choice',
          name: 'from',
          label: 'From',
          options: [
            ['set', 'What is set'],
            [DEFAULT, 'Defaults'],
          ],
        },
      ]}
      columns={[
        { name: 'option', title: 'Option', cell: ({ option }) => <Text>{option}</Text> },
        {
          name: 'value',
          title: 'Value',
          cell: ({ value }) => (
            <code>
              <Text>{textOf(value)}</Text>
            </code>
          ),
        },
        { name: 'source', title: 'From', cell: ({ source }) => <Source of={source} />, width: '170px' },
        {
          name: 'variable',
          title: 'Variable',
          cell: ({ variable }) => (variable === null ? '' : <code>{variable}</code>),
          isMinor: true,
        },
      ]}
      empty={<p>There are no settings.</p>}
      pane={(id, setting) => <SettingPane id={id} setting={setting} />}
    />
  )
}

function SettingPane({ id, setting }: { id: string; setting: Setting | undefined }) {
  if (!setting) return <h2 tabIndex={-1}>This setting is not among those that are shown.</h2>
  const { value, source, variable } = setting
  return (
    <>
      <h2 tabIndex={-1}>
        <Text>{id}</Text>
      </h2>
      <Facts
        of={[
          ['From', <Source of={source} />],
          ['Variable', variable === null ? undefined : <code>{variable}</code>],
        ]}
      />
      <Json value={value} label="The value" />
      <p class="soft">
        {source === 'console'
          ? 'It is set under Settings.'
          : `It is read at a start: change it in sixwire.config.ts${variable === null ? '' : ' or by its variable, which takes precedence'}, and start again.`}{' '}
        Secrets are masked.
      </p>
    </>
  )
}
