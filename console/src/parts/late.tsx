import type { ComponentType } from 'preact'

import { openDialog } from './dialog.tsx'
import { messageOf, Show, useLoad } from './load.tsx'
import { toast } from './toast.tsx'

type Module<P> = { default: ComponentType<P> }

/**
 * A component whose script is loaded when it is shown first.
 *
 * @example <Late load={() => import('./form.tsx')} props={{ tree }} />
 */
export function Late<P extends object>({ load, props }: { load: () => Promise<Module<P>>; props: P }) {
  const loaded = useLoad(load, [])
  return <Show of={loaded}>{({ default: Component }) => <Component {...props} />}</Show>
}

/** Opens a dialog whose script is loaded for it. */
export function openLate<P extends { close: () => void }>(
  load: () => Promise<Module<P>>,
  props: Omit<P, 'close'>,
): void {
  load().then(
    ({ default: Component }) => openDialog((close) => <Component {...({ ...props, close } as P)} />),
    (error: unknown) => toast(messageOf(error), { tone: 'bad' }),
  )
}
