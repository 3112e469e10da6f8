import { confirm, withProof } from '../../parts/dialog.tsx'
import { messageOf } from '../../parts/load.tsx'
import { six } from '../../parts/session.ts'
import { bytes } from '../../parts/text.tsx'
import { toast } from '../../parts/toast.tsx'

/** Files by their ids, or all that a filter finds. */
export type MarkedFiles = { ids: string[] } | { filter: { q?: string; contentType?: string; owner?: string } }

/** Counts files, asks for their number, and deletes them. */
export async function removeMany(selection: MarkedFiles, done: () => void): Promise<void> {
  const body = { action: 'delete' as const, ...selection }
  try {
    const { files, bytes: size } = await six.call('POST /store/files/bulk', {
      body: { ...body, dryRun: true },
    })
    confirm({
      title: `Delete ${files} ${files === 1 ? 'file' : 'files'}?`,
      verb: 'Delete',
      type: String(files),
      children: <p>{bytes(size)} in all. Their links stop working, and this cannot be undone.</p>,
      async act() {
        await withProof(() => six.call('POST /store/files/bulk', { body: { ...body, expected: files } }))
        toast(`${files} ${files === 1 ? 'file' : 'files'} deleted.`)
        done()
      },
    })
  } catch (error) {
    toast(messageOf(error), { tone: 'bad' })
  }
}
