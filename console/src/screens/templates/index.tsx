import { openLate } from '../../parts/late.tsx'
import { List } from '../../parts/list.tsx'
import { href, Link, place } from '../../parts/router.tsx'
import { canWrite, six } from '../../parts/session.ts'
import { Badge, Text } from '../../parts/text.tsx'
import { TemplatePane } from './pane.tsx'
import type { TemplateSummary } from './template.ts'

async function load({ signal }: { signal: AbortSignal }) {
  const { templates } = await six.call('GET /messaging/templates', { signal })
  const { query } = place.value
  const q = (query.get('q') ?? '').toLowerCase()
  const from = query.get('from')
  const rows = templates.filter(
    ({ name, subject = '', source }) =>
      `${name} ${subject}`.toLowerCase().includes(q) && (!from || from === source),
  )
  return { rows }
}

/** The templates of mails and texts, built-in and of the application, as they will look. */
export default function Templates() {
  return (
    <List<TemplateSummary>
      title="Templates"
      at={['templates']}
      idOf={({ name }) => name}
      load={load}
      filters={[
        { kind: 'search', name: 'q', label: 'Name or subject' },
        {
          kind: 'choice',
          name: 'from',
          label: 'From',
          options: [
            ['built-in', 'built-in'],
            ['application', 'the application'],
            ['console', 'the console'],
          ],
        },
      ]}
      columns={[
        { name: 'name', title: 'Name', order: ({ name }) => name, cell: ({ name }) => name },
        {
          name: 'subject',
          title: 'Subject',
          order: ({ subject }) => subject,
          cell: ({ subject, error }) =>
            error !== undefined ? <Badge tone="bad">malformed</Badge> : <Text>{subject ?? '–'}</Text>,
          isMinor: true,
        },
        {
          name: 'channel',
          title: 'Channel',
          order: ({ channel }) => channel,
          cell: ({ channel }) => channel,
          width: '86px',
        },
        {
          name: 'from',
          title: 'From',
          order: ({ source }) => source,
          cell: ({ source }) => (source === 'built-in' ? <span class="soft">built-in</span> : source),
          width: '110px',
        },
        {
          name: 'languages',
          title: 'Languages',
          order: ({ languages }) => languages.length,
          cell: ({ languages }) => languages.join(', '),
          isMinor: true,
          width: '110px',
        },
      ]}
      empty={<p>There are no templates.</p>}
      buttons={(again) => (
        <>
          <Link to={href(['messages'])}>Messages</Link>
          <button
            type="button"
            class="small primary"
            disabled={!canWrite.value}
            onClick={() => openLate(() => import('./new-text.tsx'), { again })}
          >
            New template
          </button>
        </>
      )}
      pane={(name, _template, again) => <TemplatePane key={name} name={name} again={again} />}
    />
  )
}
