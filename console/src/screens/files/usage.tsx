import { Dialog } from '../../parts/dialog.tsx'
import { Show, useLoad } from '../../parts/load.tsx'
import { Owner } from '../../parts/owner.tsx'
import { href, Link } from '../../parts/router.tsx'
import { six } from '../../parts/session.ts'
import { bytes } from '../../parts/text.tsx'

const OWNERS = 20

/** What files take in all, and of whom most. */
export default function Usage({ close }: { close: () => void }) {
  const usage = useLoad(
    (signal) => six.call('GET /store/files/usage', { query: { limit: OWNERS }, signal }),
    [],
  )
  return (
    <Dialog title="Storage" close={close}>
      <Show of={usage}>
        {({ files, bytes: total, owners }) => (
          <>
            <p>
              <strong>{bytes(total)}</strong> in {files.toLocaleString()} files, without resized images.
            </p>
            {owners.length > 0 && (
              <table class="usage">
                <caption class="quiet">Owners with the most bytes</caption>
                <thead>
                  <tr>
                    <th scope="col">Owner</th>
                    <th scope="col" class="number">
                      Files
                    </th>
                    <th scope="col" class="number">
                      Bytes
                    </th>
                  </tr>
                </thead>
                <tbody>
                  {owners.map((one) => (
                    <tr key={one.owner} onClick={close}>
                      <td>
                        <Link to={href(['files'], { owner: one.owner })}>
                          <Owner of={one.owner} />
                        </Link>
                        <meter min={0} max={Math.max(1, total)} value={one.bytes} aria-hidden="true" />
                      </td>
                      <td class="number">{one.files.toLocaleString()}</td>
                      <td class="number">{bytes(one.bytes)}</td>
                    </tr>
                  ))}
                </tbody>
              </table>
            )}
          </>
        )}
      </Show>
      <div class="buttons">
        <button type="button" onClick={close}>
          Close
        </button>
      </div>
    </Dialog>
  )
}
