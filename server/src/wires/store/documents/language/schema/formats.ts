import { isIPv4, isIPv6 } from 'node:net'
import { domainToASCII, domainToUnicode } from 'node:url'

import { addressFault } from '../../../../../base/email-address.ts'

type IsOfFormat = (text: string) => boolean

/** The last days of the months of a leap year. */
const LAST_DAYS = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]

/** RFC 3339, `full-date`. */
function isDate(text: string): boolean {
  const [year, month, day] = (/^(\d{4})-(\d\d)-(\d\d)$/.exec(text)?.slice(1) ?? []).map(Number)
  if (year === undefined || !day || day > (LAST_DAYS[month! - 1] ?? 0)) return false
  return month !== 2 || day < 29 || (year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0))
}

const TIME = /^(\d\d):(\d\d):(\d\d)(?:\.\d+)?(?:z|([+-])(\d\d):(\d\d))$/i

/** RFC 3339, `full-time`: with an offset, and with a leap second where there may be one. */
function isTime(text: string): boolean {
  const parts = TIME.exec(text)
  if (!parts) return false
  const [hour, minute, second, offsetHour, offsetMinute] = [1, 2, 3, 5, 6].map((i) => Number(parts[i] ?? 0))
  if (hour! > 23 || minute! > 59 || offsetHour! > 23 || offsetMinute! > 59) return false
  if (second! < 60) return true
  const offset = (offsetHour! * 60 + offsetMinute!) * (parts[4] === '-' ? -1 : 1)
  return second === 60 && (hour! * 60 + minute! - offset + 1) % (24 * 60) === 0
}

/** RFC 3339, `date-time`. */
const isDateTime: IsOfFormat = (text) =>
  isDate(text.slice(0, 10)) && /^t$/i.test(text.slice(10, 11)) && isTime(text.slice(11))

const LABEL = /^[a-z\d](?:[a-z\d-]{0,61}[a-z\d])?$/i

/** RFC 1123, section 2.1, with labels `xn--…` that are of an international domain: RFC 5890, section 2.3.2.1. */
const isHostname: IsOfFormat = (text) =>
  text.length <= 253 && text.split('.').every((label) => LABEL.test(label) && isDecodable(label))

function isDecodable(label: string): boolean {
  if (!/^xn--/i.test(label)) return true
  const decoded = domainToUnicode(label)
  return !decoded.startsWith('xn--') && domainToASCII(decoded) === label.toLowerCase()
}

const CHARACTERS = String.raw`[\w.~!$&'()*+,;=%-]`
/**
 * RFC 3986: a scheme, an authority with a port of digits if there is one, a path, a query and a fragment. A host is a name unless
 * it is in brackets, also where it looks like an address.
 */
const URI = new RegExp(
  `^[a-z][a-z\\d+.-]*:(?:\\/\\/(?:(?:${CHARACTERS}|:)*@)?(?:\\[(?<address>[^\\]]*)\\]|${CHARACTERS}*)(?::\\d*)?(?![^/?#])|(?!\\/\\/))` +
    `(?:${CHARACTERS}|[:@/])*(?:\\?(?:${CHARACTERS}|[:@/?])*)?(?:#(?:${CHARACTERS}|[:@/?])*)?$`,
  'i',
)

/** Of these schemes, that have a host always: RFC 9110, section 4.2. */
const WITHOUT_HOST = /^(?:https?|wss?|ftp):(?!\/\/[^/?#])/i

function isUri(text: string): boolean {
  const parts = URI.exec(text)
  if (!parts || WITHOUT_HOST.test(text) || /%(?![\da-f]{2})/i.test(text)) return false
  const address = parts.groups?.['address']
  return address === undefined || isIPv6(address) || /^v[\da-f]+\.[\w.~!$&'()*+,;=:-]+$/i.test(address)
}

const UUID = /^[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}$/i

/** The formats of schemas. Each takes time linear to the length of the text. */
export const FORMATS: Readonly<Record<string, IsOfFormat>> = {
  date: isDate,
  'date-time': isDateTime,
  time: isTime,
  email: (text) => !/\s/.test(text) && addressFault(text) === undefined,
  hostname: isHostname,
  ipv4: isIPv4,
  // A zone names an interface of one machine.
  ipv6: (text) => isIPv6(text) && !text.includes('%'),
  uri: isUri,
  uuid: (text) => UUID.test(text),
}
