import { useEffect, useState } from 'preact/hooks'

import { withProof } from '../../../parts/dialog.tsx'
import { messageOf } from '../../../parts/load.tsx'
import { canWrite, six } from '../../../parts/session.ts'
import { Text } from '../../../parts/text.tsx'
import { toast } from '../../../parts/toast.tsx'
import type { DefinitionNow } from './use-definition.ts'

const LOOK_MS = 1_000

type Change = NonNullable<DefinitionNow['change']>
const SAYS: Readonly<Record<Change['state'], string>> = {
  waiting: 'The documents are compared with it.',
  changing: 'Its documents are being changed.',
  changed: 'Its documents are changed. The definition is about to come into force.',
  failed: 'The change of its documents has stopped.',
  undoing: 'The change of its documents is being undone.',
  settling: 'The definition is in force. What was written meanwhile is looked through.',
}

/** The change of the documents that is under way, with its progress, until it is done or undone. */
export default function UnderWay({ of, again }: { of: DefinitionNow; again: () => void }) {
  const { name, version = 0, newest } = of
  const change = of.change!
  const { state, done, documents, reason } = change
  const [isSending, setSending] = useState(false)
  useEffect(() => {
    const timer = setTimeout(again, LOOK_MS)
    return () => clearTimeout(timer)
  }, [of])

  async function act(call: () => Promise<unknown>): Promise<void> {
    if (isSending) return
    setSending(true)
    try {
      await withProof(call)
    } catch (error) {
      toast(messageOf(error), { tone: 'bad' })
    }
    setSending(false)
    again()
  }
  // Of the version that was in force: what is done already is not removed.
  const request = { params: { name }, headers: { 'if-match': `"${version}"` } }
  const undo = () => act(() => six.call('DELETE /store/collections/:name', request))
  const goOn = () =>
    act(() => {
      const body = { ...(newest!.definition as object), documents: newest!.documents ?? [] }
      return six.call('PUT /store/collections/:name', { ...request, body })
    })
  return (
    <div class={state === 'failed' ? 'notice bad' : 'notice warning'} role="status">
      <div class="under-way">
        <p>
          <strong>{SAYS[state]}</strong>
          {(state === 'changing' || state === 'undoing') && (
            <>
              {' '}
              {done.toLocaleString()} of {documents.toLocaleString()} are done.
            </>
          )}
        </p>
        {reason !== undefined && (
          <p>
            <Text>{reason}</Text>
          </p>
        )}
        {(state === 'changing' || state === 'undoing') && (
          <progress aria-label="Progress of the change" value={done} max={Math.max(documents, 1)} />
        )}
        {state !== 'undoing' && state !== 'settling' && (
          <div class="buttons">
            {state === 'failed' && (
              <button type="button" class="small" disabled={!canWrite.value} onClick={() => void goOn()}>
                Go on
              </button>
            )}
            <button type="button" class="small" disabled={!canWrite.value} onClick={() => void undo()}>
              Undo
            </button>
          </div>
        )}
      </div>
    </div>
  )
}
