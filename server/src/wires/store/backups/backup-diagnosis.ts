import type { Clock } from '../../../base/clock.ts'
import { fault, findingIf, warning, type Diagnosis } from '../../../kernel/wire/diagnosis.ts'
import { millisecondsOf } from './backup-schedule.ts'

/** Whether there is a backup, and one of now where they are scheduled. */
export const backupDiagnosis = (
  clock: Pick<Clock, 'now'>,
  { every, production }: { every: string | undefined; production: boolean },
  lastCompletedAt: () => Promise<string | null>,
): Diagnosis => ({
  name: 'backups',
  about: 'the age of the last completed backup',
  opens: { title: 'Make a backup', at: 'backups' },
  async find() {
    const last = await lastCompletedAt()
    if (every === undefined)
      return findingIf(production && last === null, () =>
        warning(
          'there is no backup of documents and files, and none is scheduled',
          "set store.backups.every to '1d' in sixwire.config.ts, or save them in another way",
        ),
      )
    if (last === null)
      return [warning('backups are scheduled, and none is completed yet', 'sixwire backup list says why')]
    const ageMs = clock.now() - Date.parse(last)
    return findingIf(ageMs > 2 * millisecondsOf(every), () =>
      fault(
        `the last completed backup is of ${last}, and one is due every ${every}`,
        'sixwire backup list says what became of the later ones; a running server makes them',
      ),
    )
  },
})
