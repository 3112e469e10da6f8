/** A setting or an option of a wire as it is in force, and where that is from. */
export type SettingInForce = {
  /** The option in the configuration file, from the wire on; of what has none the variable. */
  option: string
  variable: string | null
  /** Masked if it may be a secret. */
  value: unknown
  source: string
}
