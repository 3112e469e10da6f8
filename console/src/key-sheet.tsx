import { Dialog } from './parts/dialog.tsx'
import { singleKeys } from './parts/keyboard.ts'
import type { Screen } from './screens.ts'

const KEYS: readonly (readonly [keys: string, what: string])[] = [
  ['Ctrl K', 'Search everything (Cmd K on a Mac)'],
  ['/', 'Filter the list; Enter or ↓ goes to its first row'],
  ['j, k or ↓, ↑', 'Next and previous row'],
  ['Enter', 'Open the row'],
  ['x', 'Mark the row; with Shift all from the last one'],
  ['Esc', 'Close what is open'],
  ['Ctrl S', 'Save'],
  ['?', 'This sheet'],
]

/** All keys, and the switch for those that are a single letter. */
export const KeySheet = ({ screens, close }: { screens: readonly Screen[]; close: () => void }) => (
  <Dialog title="Keyboard" close={close} wide>
    <div class="keys">
      <dl class="facts">
        {KEYS.map(([keys, what]) => (
          <>
            <dt key={keys}>
              <kbd>{keys}</kbd>
            </dt>
            <dd key={what}>{what}</dd>
          </>
        ))}
      </dl>
      <dl class="facts">
        {screens.map(({ name, title, key }) => (
          <>
            <dt key={key}>
              <kbd>g</kbd> <kbd>{key}</kbd>
            </dt>
            <dd key={name}>{title}</dd>
          </>
        ))}
      </dl>
    </div>
    <label class="check">
      <input
        type="checkbox"
        checked={singleKeys.value}
        onChange={(event) => (singleKeys.value = event.currentTarget.checked)}
      />{' '}
      Keys without Ctrl or Cmd are on
    </label>
    <div class="buttons end">
      <button type="button" onClick={close}>
        Close
      </button>
    </div>
  </Dialog>
)
