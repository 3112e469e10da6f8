import { useState } from 'preact/hooks'

import { Dialog, withProof } from '../../parts/dialog.tsx'
import { Field, Form } from '../../parts/form.tsx'
import { InstallationName, nameToType } from '../../parts/installation-name.tsx'
import { go, href } from '../../parts/router.tsx'
import { six } from '../../parts/session.ts'
import { toast } from '../../parts/toast.tsx'

/** Creates a wallet, or imports the key of one: that needs a recent sign-in and, in production, the installation's name. */
export function NewWallet(props: { kind: 'create' | 'import'; close: () => void; made: () => void }) {
  const { kind, close, made } = props
  const isImport = kind === 'import'
  const toType = isImport ? nameToType() : undefined
  const [typed, setTyped] = useState('')
  return (
    <Dialog title={isImport ? 'Import the key of a wallet' : 'Create a wallet'} close={close}>
      <Form
        submit={isImport ? 'Import' : 'Create'}
        isDangerous={isImport}
        disabled={toType !== undefined && typed.trim() !== toType}
        send={async (value) => {
          const name = value('name').trim() || undefined
          const { _id } = isImport
            ? await withProof(() =>
                six.call('POST /onchain/wallets/import', {
                  body: { privateKey: value('privateKey').trim(), name },
                }),
              )
            : await six.call('POST /onchain/wallets', { body: { name } })
          toast(isImport ? 'The key is stored, encrypted.' : 'The wallet is created.')
          made()
          close()
          go(href(['wallets', _id]))
        }}
        cancel={close}
      >
        <p class="soft">
          {isImport
            ? 'The key is stored encrypted, and never shown again. The wallet is yours.'
            : 'Its key is made on the server and never leaves it. The wallet is yours.'}
        </p>
        {isImport && (
          <Field name="privateKey" label="Private key" type="password" placeholder="0x…" required />
        )}
        <Field name="name" label="Name" maxLength={200} />
        {isImport && <InstallationName onText={setTyped} />}
      </Form>
    </Dialog>
  )
}
