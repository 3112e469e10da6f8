import { fault, findingIf, type Diagnosis } from '../../../kernel/wire/diagnosis.ts'
import type { SettingChanges } from './setting-changes.ts'

/** Says that the newest settings of the console are not in force. */
export const settingsDiagnosis = (changes: Pick<SettingChanges, 'fault'>): Diagnosis => ({
  name: 'settings of the console',
  about: 'whether this server works with the newest settings of the console',
  async find() {
    const reason = changes.fault()?.fault
    return findingIf(reason !== undefined, () =>
      fault(
        `the newest settings are not in force on this server: ${reason}`,
        'open Settings in the console and change them, or go back to an earlier version',
      ),
    )
  },
})
