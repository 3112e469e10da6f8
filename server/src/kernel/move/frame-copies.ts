import type { TableCopies } from '../wire/table-copy.ts'

// PostgreSQL counts in several slots, which are added up, and writes a space behind commas of JSON.
const COUNTS =
  'select list, owner, 0 as slot, sum(records) as records from sixwire_counts group by list, owner'
const FACET_COUNTS = (facets: string) =>
  `select list, owner, ${facets} as facets, 0 as slot, sum(records) as records
   from sixwire_facet_counts group by list, owner, sixwire_facet_counts.facets`

/** How the tables of the frame are copied. */
export const FRAME_COPIES: TableCopies = {
  sixwire_migrations: { isLeftOut: true, isOpen: true },
  sixwire_moves: { isLeftOut: true, isOpen: true },
  sixwire_processes: { isLeftOut: true, isOpen: true },
  sixwire_write_probe: { isLeftOut: true },
  // Reading goes on, and so do its limits and its log.
  sixwire_rate_limits: { isOpen: true },
  sixwire_log: { isOpen: true },
  sixwire_log_hours: { isOpen: true },
  sixwire_levels: { isOpen: true },
  sixwire_faults: { isOpen: true },
  sixwire_counts: { rows: { sqlite: COUNTS, postgres: COUNTS } },
  sixwire_facet_counts: {
    rows: {
      sqlite: FACET_COUNTS('facets'),
      postgres: FACET_COUNTS(
        `(select '[' || string_agg(facet.value::text, ',' order by facet.place) || ']'
          from json_array_elements(facets::json) with ordinality as facet (value, place))`,
      ),
    },
    after: { postgres: ['update sixwire_facet_counts set facets = facets::jsonb::text'] },
  },
  sixwire_lanes: {
    isLeftOut: true,
    after: {
      postgres: [
        `insert into sixwire_lanes (kind, lane, last_seq)
         select kind, lane, max(seq) from sixwire_jobs where seq is not null group by kind, lane`,
      ],
    },
  },
}
