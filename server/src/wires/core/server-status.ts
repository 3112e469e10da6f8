import type { Stage } from '../../kernel/lifecycle/lifecycle.ts'
import type { Diagnosis } from '../../kernel/wire/diagnosis.ts'
import type { Figure } from '../../kernel/wire/figure.ts'
import type { Series } from '../../kernel/wire/series.ts'
import type { WireContext } from '../../kernel/wire/wire.ts'
import type { JobOperations } from './jobs/job-operations.ts'
import type { LogOperations } from './request-log/log-operations.ts'
import type { ShownScreen } from './screens/shown-screen.ts'
import type { SettingsStatus } from './settings/setting-changes.ts'
import type { WebhookOperations } from './webhooks/webhooks.ts'

/** The state of the whole server, and what operators do with it. */
export type ServerStatus = SettingsStatus & {
  /** `starting` until migrations ran and every wire started; `draining` from the signal to end. */
  state(): Stage
  /** Seconds since the start. */
  uptime(): number
  /** Every loaded wire, with a check that rejects if it can't work. */
  health(): ReadonlyMap<string, () => Promise<void>>
  /** The webhooks of the configuration, and what is delivered to them. */
  webhooks: WebhookOperations
  /** The background jobs of all wires. */
  jobs: JobOperations
  /** Prometheus text, and its content type. */
  metrics(): Promise<{ text: string; contentType: string }>
  /** The time, ISO 8601. */
  now(): string
  /** The request log. */
  logs: LogOperations
  /** The figures of all wires. */
  figures(): readonly { readonly wire: string; readonly figure: Figure }[]
  /** The series of all wires. */
  series(): readonly { readonly wire: string; readonly series: Series }[]
  /** The checks of the frame and of all wires. */
  diagnoses(): readonly Diagnosis[]
  /** The screens that the wires declare for the console. */
  screens(): readonly ShownScreen[]
}

/** What `core` is set up with: no other wire has the status of the server. */
export type CoreContext = WireContext & { status: ServerStatus }
