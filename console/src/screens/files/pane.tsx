import { useState } from 'preact/hooks'

import { confirm } from '../../parts/dialog.tsx'
import { messageOf, Show, useLoad } from '../../parts/load.tsx'
import { Owner } from '../../parts/owner.tsx'
import { go, href, Link, place } from '../../parts/router.tsx'
import { canWrite, serverUrl, six } from '../../parts/session.ts'
import { bytes, Facts, Id, Json, Text, Time } from '../../parts/text.tsx'
import { announce, toast } from '../../parts/toast.tsx'
import { loadFile, Preview, type ShownFile } from './preview.tsx'
import { States } from './states.tsx'

const DOWNLOAD_SECONDS = 60
const LIFETIMES = [
  [3600, 'an hour'],
  [86_400, 'a day'],
  [604_800, '7 days'],
] as const

const linkTo = async (id: string, expiresIn: number): Promise<string> =>
  (await six.call('POST /store/files/:id/link', { params: { id }, body: { expiresIn } })).url

/** Lets the browser store a file, from the server of this page: `PUBLIC_URL` may be another address of it. */
async function download(id: string): Promise<void> {
  const { search } = new URL(await linkTo(id, DOWNLOAD_SECONDS))
  const link = document.createElement('a')
  link.href = `${serverUrl}/store/files/${id}/content${search}&download`
  link.download = ''
  link.click()
}

async function copyLink(id: string, seconds: number): Promise<void> {
  await navigator.clipboard.writeText(await linkTo(id, seconds))
  toast('Link copied: it opens this file without a sign-in until it expires.')
}

const orSay = (doing: Promise<void>): void =>
  void doing.catch((error: unknown) => toast(messageOf(error), { tone: 'bad' }))

/** One file: a safe preview, its record, links to it. */
export default function FilePane({
  id,
  file,
  again,
}: {
  id: string
  file: ShownFile | undefined
  again: () => void
}) {
  const loaded = useLoad(async (signal) => file ?? loadFile(id, signal), [id])
  return <Show of={loaded}>{(one) => <FileView file={one} again={again} />}</Show>
}

function FileView({ file: loaded, again }: { file: ShownFile; again: () => void }) {
  const [file, setFile] = useState(loaded)
  const { _id: id, owner } = file
  const remove = () =>
    confirm({
      title: 'Delete this file?',
      verb: 'Delete',
      children: (
        <p>
          <Text>{file.originalName}</Text> and its links end. This cannot be undone.
        </p>
      ),
      async act() {
        await six.call('DELETE /store/files/:id', { params: { id } })
        toast('File deleted.')
        go(href(['files'], place.value.query))
        again()
      },
    })
  return (
    <>
      <h2 tabIndex={-1}>
        <Text>{file.originalName}</Text>
      </h2>
      <Preview file={file} />
      <div class="buttons">
        <button type="button" onClick={() => orSay(download(id))}>
          Download
        </button>
        <select
          class="link-for"
          aria-label="Copy a link that is valid for"
          value=""
          onChange={(event) => {
            const seconds = Number(event.currentTarget.value)
            event.currentTarget.value = ''
            announce('Creating the link')
            orSay(copyLink(id, seconds))
          }}
        >
          <option value="">Copy a link for…</option>
          {LIFETIMES.map(([seconds, title]) => (
            <option key={seconds} value={seconds}>
              {title}
            </option>
          ))}
        </select>
        <button type="button" class="dangerous" disabled={!canWrite.value} onClick={remove}>
          Delete
        </button>
      </div>
      <AccessSwitch
        file={file}
        onChange={(next) => {
          setFile(next)
          again()
        }}
      />
      <Facts
        of={[
          ['Type', <Text>{file.contentType}</Text>],
          file.image && ['Pixels', `${file.image.width} × ${file.image.height}`],
          ['Size', `${bytes(file.size)} (${file.size.toLocaleString()} bytes)`],
          ['Uploaded', <Time at={file.createdAt} />],
          owner !== undefined && [
            'Owner',
            <Link to={href(['users', owner])}>
              <Owner of={owner} />
            </Link>,
          ],
          file.status && ['Status', <States of={file} />],
          ['Address', <Id what="the address">{file.url}</Id>],
          ['Id', <Id>{id}</Id>],
          ['SHA-256', <Id what="the checksum">{file.sha256}</Id>],
        ]}
      />
      <Uses id={id} />
      {Object.keys(file.metadata).length > 0 && (
        <>
          <h3>Metadata</h3>
          <Json value={file.metadata} label="Metadata" />
        </>
      )}
    </>
  )
}

/** Makes a file public or private. */
function AccessSwitch({ file, onChange }: { file: ShownFile; onChange: (file: ShownFile) => void }) {
  const [isBusy, setBusy] = useState(false)
  const isPublic = file.access === 'public'
  async function change(): Promise<void> {
    setBusy(true)
    try {
      const access = isPublic ? 'private' : 'public'
      onChange(await six.call('PATCH /store/files/:id', { params: { id: file._id }, body: { access } }))
      toast(isPublic ? 'The file is private. Its address has changed.' : 'The file is public.')
    } finally {
      setBusy(false)
    }
  }
  return (
    <div>
      <label class="check">
        <input
          type="checkbox"
          role="switch"
          checked={isPublic}
          aria-checked={isPublic}
          aria-describedby="public-hint"
          disabled={isBusy || !canWrite.value}
          onChange={() => orSay(change())}
        />{' '}
        Public: everybody who has its address may read it
      </label>
      <p id="public-hint" class="hint">
        Browsers and caches keep the copies that they have, also after it is made private.
      </p>
    </div>
  )
}

/** The documents that have a file. */
function Uses({ id }: { id: string }) {
  const loaded = useLoad((signal) => six.call('GET /store/files/:id/uses', { params: { id }, signal }), [id])
  return (
    <section aria-label="Used by">
      <h3>Used by</h3>
      <Show of={loaded}>
        {({ uses }) =>
          uses.length === 0 ? (
            <p class="soft">No document has it in a field of files.</p>
          ) : (
            <ul>
              {uses.map(({ collection, field, _id }) => (
                <li key={`${collection}/${field}/${_id}`}>
                  <Link to={href(['data', collection, _id])}>
                    <Text>{`${collection} ${_id}`}</Text>
                  </Link>{' '}
                  <span class="soft">{field}</span>
                </li>
              ))}
            </ul>
          )
        }
      </Show>
    </section>
  )
}
