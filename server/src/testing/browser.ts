// A person's browser, as far as a sign-in needs one: it follows redirects and keeps cookies for hosts and paths.

type Cookie = { value: string; path: string; secure: boolean; attributes: string }

export type BrowserPage = {
  /** The address at which it ended. */
  url: URL
  /** What is behind its `#`. */
  fragment: Record<string, string>
  status: number
  text: string
}

export type Browser = {
  /** Follows redirects until a page is answered, or the address begins with `stopAt`: that one is not asked. */
  visit(url: string, options?: { stopAt?: string }): Promise<BrowserPage>
  /** Sends a form, then follows likewise. */
  submit(url: string, fields: Record<string, string>, options?: { stopAt?: string }): Promise<BrowserPage>
  /** One request with its cookies; nothing is followed. */
  step(url: string, fields?: Record<string, string>): Promise<Response>
  /** The cookies of an address, as they would be sent. */
  cookies(url: string): string
  /** What was said of one cookie when it was set. */
  attributesOf(name: string): string | undefined
  setCookie(url: string, name: string, value: string, path: string): void
}

/**
 * @param places where servers really are that are known by another name: `{ 'https://api.example': app.url }`.
 *   What is at a name that nobody can resolve ends a visit.
 */
export function createBrowser(places: Record<string, string> = {}): Browser {
  const jars = new Map<string, Map<string, Cookie>>()
  const jarOf = (host: string) => jars.getOrInsertComputed(host, () => new Map<string, Cookie>())

  function keep(url: URL, line: string): void {
    const [pair = '', ...attributes] = line.split(/; */)
    const name = pair.slice(0, pair.indexOf('='))
    const said = new Map(
      attributes
        .map((one) => one.split('=') as [string, string?])
        .map(([key, value = '']) => [key.toLowerCase(), value]),
    )
    const jar = jarOf(url.hostname)
    const isOver = said.get('max-age') === '0' || new Date(said.get('expires') ?? '2999-01-01') < new Date()
    if (isOver) jar.delete(name)
    else
      jar.set(name, {
        value: pair.slice(name.length + 1),
        path: said.get('path') ?? '/',
        secure: said.has('secure'),
        attributes: attributes.join('; '),
      })
  }

  const isSent = ({ path, secure }: Cookie, url: URL): boolean =>
    (!secure || url.protocol === 'https:') &&
    (url.pathname === path || url.pathname.startsWith(path.endsWith('/') ? path : `${path}/`))

  const cookies = (address: string): string => {
    const url = new URL(address)
    const sent = [...jarOf(url.hostname)].filter(([, cookie]) => isSent(cookie, url))
    return sent.map(([name, { value }]) => `${name}=${value}`).join('; ')
  }

  async function step(address: string, fields?: Record<string, string>): Promise<Response> {
    const url = new URL(address)
    const sent = cookies(address)
    const response = await fetch((places[url.origin] ?? url.origin) + url.pathname + url.search, {
      redirect: 'manual',
      ...(fields && { method: 'POST', body: new URLSearchParams(fields) }),
      ...(sent !== '' && { headers: { cookie: sent } }),
    })
    for (const line of response.headers.getSetCookie()) keep(url, line)
    return response
  }

  const pageAt = (url: URL, status: number, text: string): BrowserPage => ({
    url,
    fragment: Object.fromEntries(new URLSearchParams(url.hash.slice(1))),
    status,
    text,
  })

  async function go(
    address: string,
    fields: Record<string, string> | undefined,
    stopAt?: string,
  ): Promise<BrowserPage> {
    let url = new URL(address)
    let response = await step(url.href, fields)
    for (let hops = 0; hops < 20; hops++) {
      const text = await response.text()
      const location = response.headers.get('location')
      if (response.status < 300 || response.status >= 400 || location === null)
        return pageAt(url, response.status, text)
      url = new URL(location, url)
      const isReal =
        places[url.origin] !== undefined || url.hostname === 'localhost' || url.hostname === '127.0.0.1'
      if (!isReal || (stopAt !== undefined && url.href.startsWith(stopAt)))
        return pageAt(url, response.status, text)
      response = await step(url.href)
    }
    throw new Error(`${address} leads round in a ring`)
  }

  return {
    visit: (url, { stopAt } = {}) => go(url, undefined, stopAt),
    submit: (url, fields, { stopAt } = {}) => go(url, fields, stopAt),
    step,
    cookies,
    attributesOf: (name) => [...jars.values()].find((jar) => jar.has(name))?.get(name)?.attributes,
    setCookie: (url, name, value, path) =>
      void jarOf(new URL(url).hostname).set(name, { value, path, secure: false, attributes: '' }),
  }
}
