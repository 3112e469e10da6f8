import type { ListFilter } from '../../parts/filters.tsx'
import { List } from '../../parts/list.tsx'
import { Show, useLoad } from '../../parts/load.tsx'
import { place } from '../../parts/router.tsx'
import { Facts, Text } from '../../parts/text.tsx'
import { ActionButton } from './action.tsx'
import { callRoute, filledFrom, type DeclaredField, type DeclaredScreen, type RecordFields } from './call.ts'
import { Value } from './value.tsx'

const textOf = (value: unknown): string => (typeof value === 'string' ? value : (JSON.stringify(value) ?? ''))

/** `userId` as `User id`, as the server makes titles of columns. */
function titleOf(name: string): string {
  const words = name
    .replace(/^_/, '')
    .replaceAll(/([a-z\d])([A-Z])/g, '$1 $2')
    .replaceAll(/[_-]+/g, ' ')
    .toLowerCase()
  return words.charAt(0).toUpperCase() + words.slice(1)
}

function filterOf({ name, title, kind, options = [] }: DeclaredField): ListFilter {
  if (kind === 'choice' || kind === 'boolean') {
    const values = kind === 'boolean' ? ['true', 'false'] : options
    return { kind: 'choice', name, label: title, options: values.map((one) => [one, one] as const) }
  }
  return name === 'q' ? { kind: 'search', name, label: title } : { kind: 'text', name, label: title }
}

/** The records of one screen that a wire declares. */
export function Records({ screen }: { screen: DeclaredScreen }) {
  const { wire, name, title, list, rows, key, isPaged, columns, filters, actions } = screen
  const idOf = (record: RecordFields): string => textOf(record[key])
  const nameOf = (record: RecordFields): string => textOf(record[columns[0]!.field])
  return (
    <List<RecordFields>
      title={title}
      at={['application', wire, name]}
      idOf={idOf}
      nameOf={nameOf}
      load={async ({ cursor, signal }) => {
        const query = Object.fromEntries(
          filters.flatMap((one) => {
            const value = place.value.query.get(one.name)
            return value ? [[one.name, value]] : []
          }),
        )
        const answer = await callRoute(list, { query: isPaged ? { ...query, cursor } : query, signal })
        return {
          rows: answer[rows] as RecordFields[],
          nextCursor: isPaged ? (answer['nextCursor'] as string | undefined) : undefined,
        }
      }}
      filters={filters.map(filterOf)}
      columns={columns.map(({ field, title: heading, kind }, at) => ({
        name: field,
        title: heading,
        cell: (record) => <Value value={record[field]} kind={kind} />,
        isNumber: kind === 'number',
        isMinor: at > 2,
      }))}
      buttons={(again) =>
        actions
          .filter(({ isOfRecord }) => !isOfRecord)
          .map((action) => <ActionButton key={action.route} action={action} done={again} />)
      }
      empty={<p>No records yet.</p>}
      pane={(id, record, again) => (
        <RecordPane
          key={id}
          screen={screen}
          record={record}
          name={record ? nameOf(record) : id}
          again={again}
        />
      )}
    />
  )
}

type PaneProps = {
  screen: DeclaredScreen
  record: RecordFields | undefined
  name: string
  again: () => void
}

function RecordPane({ screen, record, name, again }: PaneProps) {
  const { detail, columns, actions } = screen
  const loaded = useLoad(
    async (signal) =>
      detail && record
        ? callRoute(detail.route, { params: filledFrom(detail.from, record), signal })
        : record,
    [record],
  )
  if (!record) return <h2 tabIndex={-1}>This record is not among those that are loaded.</h2>
  const kindOf = (field: string): DeclaredField['kind'] =>
    columns.find((one) => one.field === field)?.kind ?? 'text'
  return (
    <>
      <h2 tabIndex={-1}>
        <Text>{name}</Text>
      </h2>
      <div class="buttons">
        {actions
          .filter(({ isOfRecord }) => isOfRecord)
          .map((action) => (
            <ActionButton key={action.route} action={action} of={{ record, name }} done={again} />
          ))}
      </div>
      <Show of={loaded}>
        {(whole) => (
          <Facts
            of={Object.entries(whole ?? record).map(([field, value]) => [
              columns.find((one) => one.field === field)?.title ?? titleOf(field),
              <Value value={value} kind={kindOf(field)} />,
            ])}
          />
        )}
      </Show>
    </>
  )
}
