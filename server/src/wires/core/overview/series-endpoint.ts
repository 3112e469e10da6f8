import type { Clock } from '../../../base/clock.ts'
import { Type } from '../../../base/schema.ts'
import type { Database } from '../../../db/database.ts'
import { endpoint } from '../../../http/route.ts'
import { Time } from '../schemas.ts'
import { readSeries, type SeriesRange, type SeriesOfWire } from './series.ts'

const RANGE_NAMES = ['24h', '7d', '30d', '90d'] as const satisfies readonly SeriesRange[]

const WholeNumber = (description: string) => Type.String({ pattern: '^-?\\d+$', description })

const Part = Type.Object({
  part: Type.String({
    description: 'Such as a status or a currency; of a series without parts it is empty.',
    examples: ['EUR'],
  }),
  exponent: Type.Optional(Type.Integer({ description: 'Of money: the decimal places of the currency.' })),
  values: Type.Array(Type.Union([Type.String(), Type.Null()]), {
    description: 'A whole number for each slot, as decimal text; of a level null before its first sample.',
  }),
  total: WholeNumber('Of the range. Of a level: the current value.'),
  before: Type.Union([WholeNumber('Of the period before, until the same time of it.'), Type.Null()], {
    description: 'Of a level: its value then, or null if no sample is so old.',
  }),
})

const SeriesPage = Type.Object(
  {
    range: Type.Enum(RANGE_NAMES),
    slots: Type.Array(Type.String(), {
      description: 'When each hour or day begins, in the time zone; the last one has not ended.',
    }),
    from: Time,
    until: Time,
    series: Type.Array(
      Type.Object(
        {
          wire: Type.String(),
          name: Type.String({ examples: ['sign-ups'] }),
          title: Type.String(),
          unit: Type.Enum(['count', 'bytes', 'money', 'blocks'], {
            description: 'money: smallest units of the currency that the part names.',
          }),
          kind: Type.Enum(['sum', 'level'], {
            description: 'sum: what happened. level: what there was.',
          }),
          opens: Type.Optional(Type.String({ description: 'The screen of the console with the records.' })),
          parts: Type.Array(Part),
        },
        { title: 'Series' },
      ),
    ),
  },
  {
    title: 'SeriesPage',
    examples: [
      {
        range: '7d',
        slots: [
          '2026-05-01T00:00:00+02:00',
          '2026-05-02T00:00:00+02:00',
          '2026-05-03T00:00:00+02:00',
          '2026-05-04T00:00:00+02:00',
          '2026-05-05T00:00:00+02:00',
          '2026-05-06T00:00:00+02:00',
          '2026-05-07T00:00:00+02:00',
        ],
        from: '2026-04-30T22:00:00.000Z',
        until: '2026-05-07T10:30:00.000Z',
        series: [
          {
            wire: 'pay',
            name: 'revenue',
            title: 'Revenue',
            unit: 'money',
            kind: 'sum',
            opens: 'payments',
            parts: [
              {
                part: 'EUR',
                exponent: 2,
                values: ['1200', '0', '4995', '0', '0', '1998', '999'],
                total: '9192',
                before: '7290',
              },
            ],
          },
        ],
      },
    ],
  },
)

/** The endpoint with the series of the wires. */
export const seriesEndpoint = ({
  db,
  clock,
  all,
}: {
  db: Database
  clock: Pick<Clock, 'now'>
  all: () => readonly SeriesOfWire[]
}) =>
  endpoint(
    {
      summary: 'Get what happened over time',
      description:
        'Sign-ups, active users, revenue, messages, requests and more, by the hour or the day, beside the period before. A series that can’t be read is left out.',
      access: 'operator',
      query: Type.Object({
        range: Type.Enum(RANGE_NAMES, {
          default: '24h',
          description: 'By the hour for 24h, else by the day. The current hour or day is the last one.',
        }),
        timeZone: Type.Optional(
          Type.String({
            maxLength: 64,
            description: 'The IANA name of the time zone in which days begin. Default: UTC.',
            examples: ['Europe/Berlin'],
          }),
        ),
        name: Type.Optional(
          Type.String({
            maxLength: 100,
            description: 'Only the series of this name.',
            examples: ['revenue'],
          }),
        ),
      }),
      reply: { 200: SeriesPage },
    },
    ({ query: { name, ...query } }) =>
      readSeries(
        { db, clock },
        all().filter(({ series }) => name === undefined || series.name === name),
        query,
      ),
  )
