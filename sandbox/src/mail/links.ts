const ENTITIES: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" }

/** Replaces character references of HTML by their characters; unknown ones stay. */
export function unescapeHtml(text: string): string {
  return text.replaceAll(/&(?:#x([\da-f]{1,6})|#(\d{1,7})|([a-z]{2,4}));/gi, (whole, hex, decimal, name) => {
    if (name !== undefined) return ENTITIES[String(name).toLowerCase()] ?? whole
    const code = hex === undefined ? Number(decimal) : Number.parseInt(String(hex), 16)
    return code <= 0x10_ff_ff ? String.fromCodePoint(code) : whole
  })
}

/** The text of HTML as far as a search needs it. */
export const textOf = (html: string): string =>
  unescapeHtml(html.replaceAll(/<(style|script)\b.*?(?:<\/\1\s*>|$)|<[^<>]*>/gis, ' '))

const isWeb = (address: string): boolean => /^https?:\/\/./i.test(address)

/** The addresses in plain text, without a full stop or bracket at the end. */
const inText = (text: string): string[] =>
  (text.match(/\bhttps?:\/\/[^\s<>"']+/gi) ?? []).map((address) => address.replace(/[.,;:!?)\]}]{1,9}$/, ''))

/** The targets of links in HTML, then addresses in its text. Each pattern stays within one tag. */
function inHtml(html: string): string[] {
  const hrefs = (html.match(/<a\s[^<>]*>/gi) ?? []).flatMap((tag) => {
    const [, double, single, bare] = /\shref\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))/i.exec(tag) ?? []
    return [unescapeHtml(double ?? single ?? bare ?? '').trim()]
  })
  return [...hrefs.filter(isWeb), ...inText(unescapeHtml(html.replaceAll(/<[^<>]*>/g, ' ')))]
}

/** The http and https addresses of a mail, in order: those of its HTML first, none twice. */
export const linksOf = ({ html, text }: { html: string | null; text: string | null }): string[] => [
  ...new Set([...inHtml(html ?? ''), ...inText(text ?? '')]),
]
