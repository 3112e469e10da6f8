import { isoTime } from '../../../base/clock.ts'
import { oneLine } from '../../../base/one-line.ts'
import { sql, type Sql } from '../../../db/sql.ts'

const TEXT_CHARACTERS = 300
/** A message that is tried for hours by several providers stays below it. */
const HISTORY_CHARACTERS = 65_536

/**
 * What can happen to a message: a provider is `called`; it took the message (`sent`), refused it or gave up (`failed`),
 * certainly did not take it (`retry`), or did not say (`unknown`). It reports on it (`delivered`, `bounced`, `failed`), and
 * an operator sends it again (`resent`).
 */
export const MESSAGE_EVENTS = [
  'called',
  'sent',
  'retry',
  'unknown',
  'failed',
  'delivered',
  'bounced',
  'resent',
] as const

/** Something that happened to a message. */
export type HistoryEvent = {
  event: (typeof MESSAGE_EVENTS)[number]
  provider?: string | undefined
  /** What the provider said, one line. */
  text?: string | undefined
}

/** The part of an `update … set` that adds to the history of a message. @param at milliseconds since 1970 */
export const addToHistorySql = (entry: HistoryEvent, at: number): Sql => sql`
  history = case when length(coalesce(history, '')) < ${HISTORY_CHARACTERS}
    then coalesce(history, '') || ${historyLine(entry, at)} else history end`

/** An event as it is stored, with the end of its line. */
export const historyLine = ({ event, provider, text }: HistoryEvent, at: number): string =>
  `${JSON.stringify({ at, event, provider, ...(text !== undefined && { text: oneLine(text, TEXT_CHARACTERS) }) })}\n`

/** Reads a stored history, oldest first. */
export const readHistory = (history: string | null): (HistoryEvent & { at: string })[] =>
  (history ?? '')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => {
      const { at, ...entry } = JSON.parse(line) as HistoryEvent & { at: number }
      return { ...entry, at: isoTime(at) }
    })
