import type { Clock } from '../../../base/clock.ts'
import {
  fault,
  findingIf,
  warning,
  type Diagnosis,
  type Finding,
  type Mend,
} from '../../../kernel/wire/diagnosis.ts'
import { millisecondsOf } from './backup-schedule.ts'

const MEND: Mend = {
  label: 'Make a backup now',
  call: 'POST /store/backup',
  done: 'The backup has begun.',
}

/** Whether there is a backup, and one of now where they are scheduled. */
export const backupDiagnosis = (
  clock: Pick<Clock, 'now'>,
  options: { every: string | undefined; production: boolean },
  lastCompletedAt: () => Promise<string | null>,
): Diagnosis => ({
  name: 'backups',
  about: 'the age of the last completed backup',
  opens: { title: 'Show the backups', at: 'backups' },
  async find() {
    const findings = findingsOf(await lastCompletedAt(), options, clock.now())
    return findings.map((finding) => ({ ...finding, mend: MEND }))
  },
})

function findingsOf(
  last: string | null,
  { every, production }: { every: string | undefined; production: boolean },
  now: number,
): Finding[] {
  if (every === undefined)
    return findingIf(production && last === null, () =>
      warning(
        'there is no backup of documents and files, and none is scheduled',
        "set store.backups.every to '1d' in sixwire.config.ts, or save them in another way",
      ),
    )
  if (last === null)
    return [warning('backups are scheduled, and none is completed yet', 'sixwire backup list says why')]
  return findingIf(now - Date.parse(last) > 2 * millisecondsOf(every), () =>
    fault(
      `the last completed backup is of ${last}, and one is due every ${every}`,
      'sixwire backup list says what became of the later ones; a running server makes them',
    ),
  )
}
