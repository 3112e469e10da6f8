import { leftOut, type WireExport } from '../wire/table-export.ts'

/** What is written of the tables of the frame. */
export const FRAME_EXPORT: WireExport = {
  tables: [
    {
      table: 'sixwire_audit',
      about: 'Who did what that concerns accounts, money, keys and whole collections',
      json: ['old_value', 'new_value'],
      names: { old_value: 'before', new_value: 'after' },
    },
    {
      table: 'sixwire_log',
      about: 'Requests and what was logged, as far as they are kept',
      json: ['fields'],
    },
    { table: 'sixwire_log_hours', about: 'Requests by the hour' },
    { table: 'sixwire_levels', about: 'Bytes, jobs and blocks behind chains by the hour' },
    { table: 'sixwire_faults', about: 'Faults of the program' },
    {
      table: 'sixwire_deliveries',
      about: 'Events, and their delivery to webhooks',
      json: ['record', 'source'],
    },
    { table: 'sixwire_webhooks', about: 'The state of webhooks', secrets: ['url_hash'] },
    {
      table: 'sixwire_jobs',
      about: 'Work that waits or has failed',
      secrets: ['payload'],
      without: ['claimed_by', 'process'],
    },
    ...leftOut('How the program runs, and counts', [
      'sixwire_migrations',
      'sixwire_moves',
      'sixwire_processes',
      'sixwire_write_probe',
      'sixwire_rate_limits',
      'sixwire_counts',
      'sixwire_facet_counts',
      'sixwire_lanes',
      'sixwire_audit_retention',
      'sixwire_served_policy',
      'sixwire_secrets',
    ]),
    {
      table: 'sixwire_settings',
      about: 'What administrators set in the console, and when',
      json: ['changed'],
      secrets: ['options'],
    },
    ...leftOut('Answers of the last day, for calls that are repeated', ['sixwire_idempotency']),
    ...leftOut('Exports of the data of persons, for a day', ['sixwire_exports']),
    ...leftOut('Stand-ins for providers, for developers', ['sandbox_*']),
  ],
}
