import { Show, useLoad } from '../../parts/load.tsx'
import { href, Link, place } from '../../parts/router.tsx'
import { six } from '../../parts/session.ts'
import { Text } from '../../parts/text.tsx'
import { Records } from './records.tsx'

/** The screens that the application's own wires declare. */
export default function Application() {
  const loaded = useLoad(async (signal) => (await six.call('GET /core/screens', { signal })).screens, [])
  const [wire, name] = place.value.path
  return (
    <Show of={loaded}>
      {(screens) => {
        const screen =
          wire === undefined && screens.length === 1
            ? screens[0]
            : screens.find((one) => one.wire === wire && one.name === name)
        if (screen) return <Records key={`${screen.wire} ${screen.name}`} screen={screen} />
        return (
          <div class="screen page">
            <h1 tabIndex={-1}>Application</h1>
            <ul>
              {screens.map((one) => (
                <li key={`${one.wire} ${one.name}`}>
                  <Link to={href(['application', one.wire, one.name])}>
                    <Text>{one.title}</Text>
                  </Link>{' '}
                  <span class="soft">in {one.wire}, a wire (module) of your application</span>
                </li>
              ))}
            </ul>
          </div>
        )
      }}
    </Show>
  )
}
