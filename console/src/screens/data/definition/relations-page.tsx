import { href, Link } from '../../../parts/router.tsx'
import Relations from './relations.tsx'

/** How all collections belong together. */
export default function RelationsPage() {
  return (
    <div class="screen page definition">
      <div class="heading">
        <h1 tabIndex={-1}>Relations</h1>
        <nav aria-label="Collections">
          <Link to={href(['data'])}>All collections</Link>
        </nav>
      </div>
      <Relations />
    </div>
  )
}
