import { render } from 'preact'

import { Problem, useLoad } from './parts/load.tsx'
import { installation, loadInstallation } from './parts/installation.ts'
import { place } from './parts/router.tsx'
import { phase, resume } from './parts/session.ts'
import { Toasts } from './parts/toast.tsx'
import { Frame } from './frame.tsx'
import { screens } from './screens.ts'
import { SignInPage } from './sign-in/index.tsx'
import { VerifyAddress } from './sign-in/verify-address.tsx'

const Console = () => (
  <>
    <Page />
    <Toasts />
  </>
)

/** A sign-in, or the frame with a screen. */
function Page() {
  const state = useLoad(loadInstallation, [])
  if (state.error !== undefined)
    return (
      <main class="sign-in">
        <Problem error={state.error} again={state.again} />
      </main>
    )
  if (installation.value === undefined || phase.value === 'asking') return null
  if (phase.value === 'unverified') return <VerifyAddress />
  return phase.value === 'out' ? <SignInPage /> : <Frame />
}

void resume()
// The screen's script comes while the session is asked for. If it does not, the screen says so.
void screens
  .find(({ name }) => name === (place.value.screen || screens[0]!.name))
  ?.load()
  .catch(() => undefined)
render(<Console />, document.getElementById('root')!)
