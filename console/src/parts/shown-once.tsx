import { Dialog } from './dialog.tsx'
import { Copy } from './text.tsx'
import type { ComponentChildren } from 'preact'

/** A dialog with a secret that is shown once. `children` say what it is for. */
export const ShownOnce = (props: {
  /** What it is: the key. */
  what: string
  secret: string
  close: () => void
  children: ComponentChildren
}) => (
  <Dialog title={props.what[0]!.toUpperCase() + props.what.slice(1)} close={props.close}>
    <p>It is shown once: {props.children}</p>
    <p class="secret">
      <code>{props.secret}</code> <Copy text={props.secret} what={props.what} />
    </p>
    <div class="buttons">
      <button type="button" class="primary" onClick={props.close}>
        I have stored it
      </button>
    </div>
  </Dialog>
)
