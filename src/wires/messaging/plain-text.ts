/** A tag as it stands in HTML; `end` is where it is over. */
type Tag = { name: string; closes: boolean; attributes: string; end: number }

const LEFT_OUT: ReadonlySet<string> = new Set(['head', 'template', 'noscript'])
/** What is in them is no HTML: only their own end ends them. */
const RAW: ReadonlySet<string> = new Set(['style', 'script', 'title', 'textarea'])
const VOID: ReadonlySet<string> = new Set([
  'area',
  'base',
  'br',
  'col',
  'hr',
  'img',
  'input',
  'link',
  'meta',
  'wbr',
])
const PARAGRAPHS: ReadonlySet<string> = new Set(
  'p h1 h2 h3 h4 h5 h6 ul ol dl table blockquote pre section article header footer'.split(' '),
)
const LINES: ReadonlySet<string> = new Set('div tr li dt dd body html main nav form address'.split(' '))
const ENTITIES: Readonly<Record<string, string>> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
  nbsp: ' ',
  ndash: '–',
  mdash: '—',
  hellip: '…',
  middot: '·',
  copy: '©',
  euro: '€',
}

/**
 * What HTML says, as plain text: paragraphs, list items as `- `, links as `words <address>`, pictures as their
 * description. What is not shown (`<style>`, `display:none`) is left out. One pass, so its time is that of the length.
 */
export function plainText(html: string): string {
  // Pieces, because a string that grows would be copied for each look at its end.
  const pieces: string[] = []
  /** Where the words of the open link begin. */
  let link: { href: string; start: number } | undefined
  /** An element whose content is left out, and how many of its kind are open in it. */
  let hidden: { name: string; depth: number } | undefined
  let at = 0

  const endsWith = (...ends: string[]): boolean => ends.includes(pieces.at(-1)?.at(-1) ?? '\n')
  const put = (more: string): void => void (more !== '' && pieces.push(more))
  const putSpace = (): void => put(endsWith('\n', ' ') ? '' : ' ')
  const putLine = (): void => put(endsWith('\n') ? '' : '\n')

  function words(more: string): void {
    if (hidden) return
    const said = decoded(more).replace(/[\s\u00a0]+/g, ' ')
    put(endsWith('\n', ' ') ? said.trimStart() : said)
  }

  function open({ name, attributes }: Tag): void {
    if (LEFT_OUT.has(name) || (!VOID.has(name) && isHidden(attributes))) hidden = { name, depth: 1 }
    else if (name === 'a') link = { href: attribute(attributes, 'href'), start: pieces.length }
    else if (name === 'img') put(attribute(attributes, 'alt'))
    else if (name === 'hr') put('\n\n--\n\n')
    else if (name === 'br') put('\n')
    else if (name === 'td' || name === 'th') putSpace()
    else if (PARAGRAPHS.has(name)) put('\n\n')
    else if (LINES.has(name)) {
      putLine()
      if (name === 'li') put('- ')
    }
  }

  function close({ name }: Tag): void {
    if (name === 'a' && link) {
      const said = pieces.splice(link.start).join('')
      const { href } = link
      const isSaid = href === said.trim() || href === `mailto:${said.trim()}`
      put(/^(https?|mailto|tel):/i.test(href) && !isSaid ? `${said}${gapAfter(said)}<${href}>` : said)
      link = undefined
    } else if (PARAGRAPHS.has(name)) put('\n\n')
    else if (LINES.has(name)) putLine()
  }

  while (at < html.length) {
    const start = html.indexOf('<', at)
    if (start < 0) break
    words(html.slice(at, start))
    if (html.startsWith('<!', start)) {
      const comment = html.startsWith('<!--', start)
      const end = html.indexOf(comment ? '-->' : '>', start)
      if (end < 0) return tidy(pieces.join(''))
      at = end + (comment ? 3 : 1)
      continue
    }
    if (!/[a-z/]/i.test(html[start + 1] ?? '')) {
      words('<')
      at = start + 1
      continue
    }
    const tag = tagAt(html, start)
    // A tag that nothing ends swallows the rest, as in a browser.
    if (!tag) return tidy(pieces.join(''))
    at = tag.end
    if (RAW.has(tag.name) && !tag.closes) {
      const end = new RegExp(`</${tag.name}`, 'gi')
      end.lastIndex = at
      at = end.exec(html)?.index ?? html.length
    } else if (hidden) {
      if (tag.name !== hidden.name) continue
      hidden.depth += tag.closes ? -1 : 1
      if (hidden.depth === 0) hidden = undefined
    } else if (tag.closes) close(tag)
    else open(tag)
  }
  words(html.slice(at))
  return tidy(pieces.join(''))
}

/** Reads the tag at a `<`; undefined where it has no end. A `>` in a quoted attribute does not end it. */
function tagAt(html: string, start: number): Tag | undefined {
  let quote = ''
  for (let at = start + 1; at < html.length; at++) {
    const sign = html[at]!
    if (quote !== '') {
      if (sign === quote) quote = ''
    } else if (sign === '"' || sign === "'") quote = sign
    else if (sign === '>') {
      const closes = html[start + 1] === '/'
      const inside = html.slice(start + (closes ? 2 : 1), at)
      const name = /^[a-z][a-z\d-]*/i.exec(inside)?.[0] ?? ''
      return { name: name.toLowerCase(), closes, attributes: inside.slice(name.length), end: at + 1 }
    }
  }
  return undefined
}

function attribute(attributes: string, name: string): string {
  const found = new RegExp(`(?:^|\\s)${name}\\s*=\\s*(?:"([^"]*)"|'([^']*)'|([^\\s"'>]+))`, 'i').exec(
    attributes,
  )
  return decoded(found?.[1] ?? found?.[2] ?? found?.[3] ?? '').trim()
}

/** Between the words of a link and its address. */
const gapAfter = (said: string): string => (said.trim() === '' || /\s$/.test(said) ? '' : ' ')

const isHidden = (attributes: string): boolean =>
  /(?:^|\s)hidden(?:\s|=|\/|$)/i.test(attributes) ||
  /display\s*:\s*none/i.test(attribute(attributes, 'style'))

const decoded = (text: string): string =>
  text.replace(
    /&(?:#x([\da-f]{1,6})|#(\d{1,7})|([a-z]{2,8}));/gi,
    (all, hex?: string, ten?: string, name?: string) => {
      if (name !== undefined) return Object.hasOwn(ENTITIES, name) ? ENTITIES[name]! : all
      const code = hex === undefined ? Number(ten) : Number.parseInt(hex, 16)
      return code > 0 && code <= 0x10ffff && !(code >= 0xd800 && code <= 0xdfff)
        ? String.fromCodePoint(code)
        : '\ufffd'
    },
  )

const tidy = (text: string): string =>
  text
    .split('\n')
    .map((line) => line.replace(/[ \t]+/g, ' ').trim())
    .join('\n')
    .replace(/\n{3,}/g, '\n\n')
    .trim()
