import type { SettingCheck } from '../../parts/settings.ts'
import { Text } from '../../parts/text.tsx'

/** Why settings were not saved, and a button to save them nevertheless. */
export const Refused = ({ checks, act }: { checks: readonly SettingCheck[]; act: () => void }) => (
  <div class="notice warning" role="alert">
    <ul>
      {checks.map(({ check, fault }) => (
        <li key={check}>
          <Text>{`${check}: ${fault}`}</Text>
        </li>
      ))}
    </ul>
    <button type="button" onClick={act}>
      Save nevertheless
    </button>
  </div>
)
