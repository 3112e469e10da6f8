import { useState } from 'preact/hooks'

import { Dialog } from '../../parts/dialog.tsx'
import { Field, Form } from '../../parts/form.tsx'
import { go, href, place } from '../../parts/router.tsx'
import { Text } from '../../parts/text.tsx'
import { choicesOf, keepChoices, type SavedView } from './views.ts'

/** Filters and columns under names, for one collection, in this browser. */
export default function SavedViews(props: {
  collection: string
  columns: readonly string[]
  choose: (names: readonly string[] | undefined) => void
  close: () => void
}) {
  const { collection, columns, choose, close } = props
  const [views, setViews] = useState(() => choicesOf(collection).views ?? [])
  function keep(next: readonly SavedView[]): void {
    keepChoices(collection, { views: next })
    setViews(next)
  }
  function show({ query, columns: names }: SavedView): void {
    if (names) choose(names)
    go(href(['data', collection], new URLSearchParams(query)))
    close()
  }
  return (
    <Dialog title="Views" close={close}>
      {views.length === 0 && <p class="soft">A view is a filter, a sort and columns under a name.</p>}
      <ul class="views">
        {views.map((view) => (
          <li key={view.name}>
            <button type="button" class="link" onClick={() => show(view)}>
              <Text>{view.name}</Text>
            </button>
            <button
              type="button"
              class="small"
              aria-label={`Delete the view ${view.name}`}
              onClick={() => keep(views.filter((one) => one !== view))}
            >
              ×
            </button>
          </li>
        ))}
      </ul>
      <Form
        send={async (value) => {
          const name = value('name').trim()
          const query = new URLSearchParams(place.value.query)
          query.delete('live')
          keep([...views.filter((one) => one.name !== name), { name, query: query.toString(), columns }])
          close()
        }}
        submit="Save this view"
        buttons={
          <button type="button" onClick={close}>
            Close
          </button>
        }
      >
        <Field name="name" label="Name" required maxLength={60} />
      </Form>
    </Dialog>
  )
}
