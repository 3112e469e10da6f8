import { Late } from '../../parts/late.tsx'
import { place } from '../../parts/router.tsx'
import { DEFINITION, RELATIONS } from './collection.ts'

/** The collections and how they belong together, the documents of one, or its definition. */
export default function Data() {
  const [collection, second] = place.value.path
  if (collection === undefined) return <Late load={() => import('./collections.tsx')} props={{}} />
  if (collection === RELATIONS)
    return <Late key={RELATIONS} load={() => import('./definition/relations-page.tsx')} props={{}} />
  return second === DEFINITION ? (
    <Late
      key={`${collection} ${DEFINITION}`}
      load={() => import('./definition/index.tsx')}
      props={{ collection }}
    />
  ) : (
    <Late key={collection} load={() => import('./grid.tsx')} props={{ collection }} />
  )
}
