import { settingError } from './setting-parsers.ts'

/** How much of the requests is kept; `false` keeps nothing. */
export type RequestLogSettings = {
  /** Entries are kept for so many days. */
  days: number
  /** And at most so many of them, the newest. */
  rows: number
  /** Successful requests that one server writes in a second; of the others it counts how many there were. */
  perSecond: number
  /** Requests that take longer, in milliseconds, are written like those that fail. */
  slowMs: number
}

export const REQUEST_LOG: RequestLogSettings = { days: 7, rows: 200_000, perSecond: 20, slowMs: 1_000 }

const LIMITS: { readonly [K in keyof RequestLogSettings]: readonly [least: number, most: number] } = {
  days: [1, 365],
  rows: [1_000, 10_000_000],
  perSecond: [0, 1_000],
  slowMs: [1, 600_000],
}

const isField = (name: string): name is keyof RequestLogSettings => Object.hasOwn(LIMITS, name)

/** Reads `on`, `off` or `days=7,rows=200000`. @throws StartError */
export function requestLogOption(value: string, name: string): RequestLogSettings | false {
  if (value === 'off') return false
  if (value === 'on') return REQUEST_LOG
  const settings = { ...REQUEST_LOG }
  for (const part of value.split(',')) {
    const [, field = '', digits = ''] = /^\s*(\w+)\s*=\s*(\d{1,9})\s*$/.exec(part) ?? []
    if (!isField(field))
      throw settingError(
        name,
        `"${part.trim()}" is not a limit of the request log: write off, or limits like ${textOf(REQUEST_LOG)}`,
      )
    const [least, most] = LIMITS[field]
    const number = Number(digits)
    if (number < least || number > most)
      throw settingError(name, `${field} can't be ${digits}: a whole number from ${least} to ${most}`)
    settings[field] = number
  }
  return settings
}

const textOf = (settings: RequestLogSettings): string =>
  Object.entries(settings)
    .map(([name, value]) => `${name}=${value}`)
    .join(',')

/** The default in words. */
export const REQUEST_LOG_TEXT = textOf(REQUEST_LOG)
