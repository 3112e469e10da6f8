import { Choose } from '../../../parts/choose.tsx'
import { six } from '../../../parts/session.ts'
import { bytes, Text } from '../../../parts/text.tsx'
import { Thumbnail } from '../../files/preview.tsx'
import type { FileFieldLimits } from '../collection.ts'

const SHOWN = 30

/** Chooses one of the files that are stored already by its name. */
export default function ChooseFile(props: {
  field: FileFieldLimits
  path: string
  onChoose: (id: string) => void
  close: () => void
}) {
  const { field, path, ...rest } = props
  // A list finds one type, or all of a kind.
  const contentType = field.types?.length === 1 ? field.types[0] : undefined
  async function find(q: string, signal: AbortSignal) {
    const query = { q: q || undefined, contentType, limit: SHOWN, total: 'none' as const }
    return (await six.call('GET /store/files', { query, signal })).files
  }
  return (
    <Choose
      {...rest}
      title={`Choose a file for ${path}`}
      search="Search names"
      none="No stored file fits."
      find={find}
      show={(file) => (
        <>
          <Thumbnail file={file} />
          <Text>{file.originalName}</Text>
          <span class="soft">{bytes(file.size)}</span>
        </>
      )}
    />
  )
}
