import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'

import { Dialog, Dialogs } from './parts/dialog.tsx'
import { Impersonating } from './parts/impersonation.tsx'
import { hasWire, installation } from './parts/installation.ts'
import { Late } from './parts/late.tsx'
import { useLoad } from './parts/load.tsx'
import { go, href, Link, place } from './parts/router.tsx'
import { end, phase, six, user } from './parts/session.ts'
import { Time } from './parts/text.tsx'
import { Environment } from './environment.tsx'
import { KeySheet } from './key-sheet.tsx'
import { useFrameKeys } from './keys.ts'
import { areasOf, Navigation, ScreenTabs } from './navigation.tsx'
import { Palette } from './palette.tsx'
import { screens } from './screens.ts'
import { SignIn } from './sign-in/index.tsx'

/** Everything around a screen: navigation, the bar of the environment, dialogs and notes. */
export function Frame() {
  const shown = screens.filter(
    ({ name, wire }) =>
      (wire === undefined || hasWire(wire)) && (name !== 'application' || installation.value?.hasScreens),
  )
  const [dialog, setDialog] = useState<'palette' | 'keys'>()
  const screen = shown.find(({ name }) => name === place.value.screen)
  const areas = areasOf(shown)
  const area = areas.find(({ name }) => name === screen?.area)
  useFrameKeys(shown, setDialog)
  useHeadingFocus(screen?.name)
  useEffect(() => {
    document.title = `${screen?.title ?? 'Not found'} · ${installation.value?.name} console`
  }, [screen])
  // Before it is shown: afterwards it could replace an address that was opened meanwhile.
  useLayoutEffect(() => {
    if (['', 'sign-in', 'first-admin'].includes(place.value.screen))
      go(href([shown[0]!.name]), { replace: true })
  }, [place.value.screen])
  const close = () => setDialog(undefined)
  return (
    <div class="frame">
      <a
        class="skip"
        href="#content"
        onClick={(event) => {
          event.preventDefault()
          document.getElementById('content')?.focus()
        }}
      >
        Skip to the content
      </a>
      <Environment search={() => setDialog('palette')} />
      <Navigation areas={areas} showKeys={() => setDialog('keys')} />
      {area && <ScreenTabs of={area} />}
      <main id="content" tabIndex={-1}>
        <FactorNotice />
        <Impersonating />
        {screen ? <Late key={screen.name} load={screen.load} props={{}} /> : <NotFound />}
      </main>
      {dialog === 'palette' && <Palette screens={shown} close={close} />}
      {dialog === 'keys' && <KeySheet screens={shown} close={close} />}
      <Dialogs />
      {phase.value === 'expired' && <SignInAgain />}
    </div>
  )
}

/** Moves the focus to the heading of the next screen once it is there, from the navigation or from nothing. */
function useHeadingFocus(screen: string | undefined): void {
  const isFirst = useRef(true)
  useEffect(() => {
    if (isFirst.current) {
      isFirst.current = false
      return
    }
    const main = document.getElementById('content')!
    function focusHeading(): void {
      const heading = main.querySelector('h1')
      if (!heading) return
      observer.disconnect()
      if (document.activeElement?.matches('body, nav *')) heading.focus()
    }
    const observer = new MutationObserver(focusHeading)
    observer.observe(main, { childList: true, subtree: true })
    focusHeading()
    return () => observer.disconnect()
  }, [screen])
}

const NotFound = () =>
  place.value.screen === '' ? null : (
    <div class="empty">
      <h1 tabIndex={-1}>There is no screen “{place.value.screen}”.</h1>
      <p>The part of the server (the wire) that it belongs to may not be loaded.</p>
    </div>
  )

/** The session has ended while the page holds work: it stays as it is below the dialog. */
const SignInAgain = () => (
  <Dialog title="Your session has ended" close={() => undefined}>
    <p class="soft">Sign in again to continue. Nothing that you have typed is lost.</p>
    <SignIn email={user.value?.email} />
    <p>
      <button type="button" class="link" onClick={() => void end()}>
        Leave the console instead
      </button>
    </p>
  </Dialog>
)

/** Says until when the account must have a second factor. */
function FactorNotice() {
  const factors = useLoad(
    async (signal) => six.call('GET /auth/factors', { signal }),
    [place.value.screen === 'account'],
  )
  const { required, dueAt } = factors.value ?? {}
  if (!required || dueAt === undefined) return null
  return (
    <p class="notice warning">
      <span>
        Your account needs a second factor. Without one it can do nothing but add one from <Time at={dueAt} />
        . <Link to={href(['account', 'factors'])}>Add one</Link>
      </span>
    </p>
  )
}
