import type { Api } from '../../../../client/src/index.ts'
import { Owner } from '../../parts/owner.tsx'
import { href, Link } from '../../parts/router.tsx'
import { Badge, type Tone } from '../../parts/text.tsx'

/** An entry of the log, as the server answers it. */
export type ShownLog = Api['GET /core/logs']['reply']['entries'][number]

/** What an entry is about, in one line. */
export const subjectOf = ({ kind, method, path, message }: ShownLog): string =>
  kind === 'request' ? `${method} ${path}` : (message ?? '')

const toneOf = (status: number): Tone => (status >= 500 ? 'bad' : status >= 400 ? 'warning' : 'good')

/** How a request ended, or how bad a problem is. */
export function Outcome({ entry: { status, level } }: { entry: ShownLog }) {
  if (status !== undefined) return <Badge tone={toneOf(status)}>{String(status)}</Badge>
  return <Badge tone={level === 'warn' ? 'warning' : 'bad'}>{level}</Badge>
}

/** Who called: a user by the email address, with a link. */
export function Caller({ of: caller }: { of: ShownLog['caller'] }) {
  if (!caller) return <span class="soft">nobody</span>
  return caller.kind === 'user' ? (
    <Link to={href(['users', caller.id])}>
      <Owner of={caller.id} />
    </Link>
  ) : (
    <span title={caller.id}>key …{caller.id.slice(-8)}</span>
  )
}
