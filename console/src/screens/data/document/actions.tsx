import { confirm } from '../../../parts/dialog.tsx'
import { go, href, place } from '../../../parts/router.tsx'
import { canWrite, six } from '../../../parts/session.ts'
import { toast } from '../../../parts/toast.tsx'
import { drafts, ownFields, textOfFields, type DocumentFields } from './draft.ts'
import { NEW } from '../collection.ts'
import { addressOf, type CurrentDocument } from './use-document.ts'

/** What can be done with a document besides changing it. */
export default function More({
  collection,
  base,
  onChange,
}: {
  collection: string
  base: CurrentDocument
  onChange: () => void
}) {
  function duplicate(): void {
    drafts.set(`${collection}/${NEW}`, { draft: { text: textOfFields(ownFields(base)) }, base: undefined })
    go(addressOf(NEW))
  }
  const remove = () =>
    confirm({
      title: `Delete ${base._id}?`,
      verb: 'Delete',
      children: <p>It is deleted from {collection} as it is shown here. This cannot be undone.</p>,
      async act() {
        await six.collection<DocumentFields>(collection).remove(base._id, { ifMatch: base })
        drafts.delete(`${collection}/${base._id}`)
        toast('Document deleted.')
        go(href(['data', collection], place.value.query))
        onChange()
      },
    })
  return (
    <span class="buttons more-actions">
      <button type="button" disabled={!canWrite.value} onClick={duplicate}>
        Duplicate
      </button>
      <button type="button" class="dangerous" disabled={!canWrite.value} onClick={remove}>
        Delete
      </button>
    </span>
  )
}
