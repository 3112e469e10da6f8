import type { Settable } from '../../../kernel/settings/settable-options.ts'
import type { StoredSettings } from '../../../kernel/settings/stored-settings.ts'
import type { SettingInForce } from './settings-in-force.ts'

/** A provider that did not answer as it should. */
export type FailedCheck = { check: string; fault: string }

/** What a server does with settings that are to change. */
export type SettingChanges = {
  /**
   * Tries settings that are not in force: whether the server could start with them, and reach what they name.
   *
   * @param changed the options that change: providers of their wires are asked
   * @throws StartError with the setting that cannot work
   */
  tryOut(stored: StoredSettings, changed: readonly string[]): Promise<FailedCheck[]>
  /**
   * Puts the newest settings into force in this process. Resolves when they are; with the sandbox when that has begun.
   *
   * @throws what kept them from it; the ones before stay in force
   */
  follow(): Promise<void>
  /** The same in this process and in the other workers of the server. @throws likewise */
  reload(): Promise<void>
  /** The version that is in force in this process. */
  inForce(): number
  /** Which version could not be put into force, and why. */
  fault(): { version: number; fault: string } | undefined
}

/** The settings of a server. */
export type SettingsStatus = {
  /** Those that are in force. */
  settings(): readonly SettingInForce[]
  /** The options that administrators may set. */
  settable: Settable
  /** What they have set, as it is in force. */
  stored(): StoredSettings
  changes: SettingChanges
}
