import { Late } from '../../parts/late.tsx'
import { place } from '../../parts/router.tsx'

/** The collections, or the documents of one. */
export default function Data() {
  const [collection] = place.value.path
  return collection === undefined ? (
    <Late load={() => import('./collections.tsx')} props={{}} />
  ) : (
    <Late key={collection} load={() => import('./grid.tsx')} props={{ collection }} />
  )
}
