import { useEffect, useState } from 'preact/hooks'

import { installation } from './parts/installation.ts'
import { href, Link, place } from './parts/router.tsx'
import { end, serverUrl, user } from './parts/session.ts'
import type { Screen } from './screens.ts'

/** All screens by their groups; on a phone behind a button. */
export function Navigation({ screens, showKeys }: { screens: readonly Screen[]; showKeys: () => void }) {
  const [isOpen, setOpen] = useState(false)
  const { screen } = place.value
  const groups = Map.groupBy(screens, ({ group }) => group)
  useEffect(() => setOpen(false), [screen])
  return (
    <nav class={isOpen ? 'navigation open' : 'navigation'} aria-label="Screens">
      <button type="button" class="menu" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        <span aria-hidden="true">☰</span> {screens.find(({ name }) => name === screen)?.title ?? 'Menu'}
      </button>
      <div class="groups">
        {[...groups].map(([group, members]) => (
          <section key={group} aria-label={group}>
            <h2 aria-hidden="true">{group}</h2>
            <ul>
              {members.map(({ name, title }) => (
                <li key={name}>
                  <Link to={href([name])} current={screen === name}>
                    {title}
                  </Link>
                </li>
              ))}
            </ul>
          </section>
        ))}
        <div class="foot">
          <p class="soft who" title={user.value?.email}>
            {user.value?.email}
          </p>
          <a href={`${serverUrl}/docs`} target="_blank" rel="noopener">
            API reference
          </a>
          {installation.value?.sandbox && (
            <a href={`${serverUrl}/sandbox`} target="_blank" rel="noopener">
              Sandbox
            </a>
          )}
          <button type="button" class="link" onClick={showKeys}>
            Keyboard
          </button>
          <button type="button" class="link" onClick={() => void end()}>
            Sign out
          </button>
        </div>
      </div>
    </nav>
  )
}
