import { Show, useLoad } from '../../../parts/load.tsx'
import { href, Link } from '../../../parts/router.tsx'
import { Text } from '../../../parts/text.tsx'
import { loadCollections } from '../collection.ts'
import { Diagram } from './diagram.tsx'

const ON_DELETE = {
  restrict: 'keeps it from being deleted',
  unset: 'the field is removed',
  cascade: 'is deleted too',
} as const

/** How all collections belong together, as they are in force: a diagram, and the same as a table. */
export default function Relations({ collection }: { collection?: string }) {
  const loaded = useLoad(loadCollections, [])
  return (
    <Show of={loaded}>
      {(all) => {
        const arrows = all.flatMap(({ name, relations }) =>
          Object.entries(relations).map(([field, { to, onDelete }]) => ({ from: name, field, to, onDelete })),
        )
        return (
          <>
            {arrows.length === 0 && (
              <p class="soft about">
                No relations yet: a field of the type “Relation” leads to documents of another collection.
              </p>
            )}
            <Diagram
              names={all.map(({ name }) => name)}
              arrows={arrows}
              {...(collection !== undefined && { current: collection })}
            />
            {arrows.length > 0 && (
              <div class="relation-table">
                <table class="facts-table">
                  <caption class="quiet">Relations</caption>
                  <thead>
                    <tr>
                      <th scope="col">Collection</th>
                      <th scope="col">Field</th>
                      <th scope="col">Leads to</th>
                      <th scope="col">If that is deleted</th>
                    </tr>
                  </thead>
                  <tbody>
                    {arrows.map(({ from, field, to, onDelete }) => (
                      <tr key={`${from} ${field}`}>
                        <td>
                          <Link to={href(['data', from])}>{from}</Link>
                        </td>
                        <td>
                          <Text>{field}</Text>
                        </td>
                        <td>
                          <Link to={href(['data', to])}>{to}</Link>
                        </td>
                        <td>{ON_DELETE[onDelete]}</td>
                      </tr>
                    ))}
                  </tbody>
                </table>
              </div>
            )}
          </>
        )
      }}
    </Show>
  )
}
