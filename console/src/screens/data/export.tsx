import { Dialog } from '../../parts/dialog.tsx'
import { Check, Choice, Form } from '../../parts/form.tsx'
import { six } from '../../parts/session.ts'
import { Text } from '../../parts/text.tsx'
import { toast } from '../../parts/toast.tsx'
import { chosenOf, type GridQuery } from './documents.ts'

type ExportProps = { collection: string; query: GridQuery; columns: readonly string[]; close: () => void }

/** Saves the documents of the list as a file. */
export default function Export({ collection, query, columns, close }: ExportProps) {
  const { filter, owner } = query
  return (
    <Dialog title={`Export ${collection}`} close={close}>
      <Form
        send={async (value) => {
          const format = value('format') === 'csv' ? 'csv' : 'ndjson'
          const file = await six.call('GET /store/:collection/export', {
            params: { collection },
            query: {
              ...chosenOf(query),
              format,
              ...(value('columns') && { fields: columns.join(',') }),
              owners: value('owners') === 'true',
            },
          })
          save(file, `${collection}.${format}`)
          toast(`${collection}.${format} is saved.`)
          close()
        }}
        submit="Export"
        cancel={close}
      >
        <p class="soft">
          {filter || owner ? 'Documents that match the filter in ' : 'All documents of '}
          <Text>{collection}</Text>, as they are at this moment. The export is in the audit log.
        </p>
        <Choice
          name="format"
          label="Format"
          options={[
            ['ndjson', 'NDJSON: a document on each line'],
            ['csv', 'CSV: a table for spreadsheets'],
          ]}
        />
        {columns.length > 0 && <Check name="columns" label="Only the columns that are shown" />}
        <Check name="owners" label="With the owner of each document" />
      </Form>
    </Dialog>
  )
}

function save(file: Blob, name: string): void {
  const link = document.createElement('a')
  link.href = URL.createObjectURL(file)
  link.download = name
  link.click()
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000)
}
