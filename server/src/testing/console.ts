// The console in Chromium, for the tests of its frame and screens.
import assert from 'node:assert/strict'
import { createRequire } from 'node:module'
import { readFile } from 'node:fs/promises'

import type { AxeResults } from 'axe-core'
import type { BrowserContext, Page, Response } from 'playwright-core'

import type { TestApp } from './app.ts'
import { login, PASSWORD } from './auth.ts'
import { launchChromium } from './chromium.ts'
import type { Ending } from './engines.ts'
import { sample } from './long-run.ts'

export type ConsolePage = {
  page: Page
  /** The account that is signed in. */
  user: { _id: string; email: string }
  /** What the browser has complained about; the end of the test fails if there is anything. */
  complaints: string[]
  /** Goes to a place of the console, such as `#/users?q=ada`. */
  go(address: string): Promise<void>
  /** Accepts complaints that the test has provoked, such as a lost connection. */
  forgive(): void
}

export type ConsoleOptions = {
  /** The role of a new account that is signed in; undefined for nobody. Default: admin. */
  as?: 'admin' | 'viewer' | undefined
  /** The first address: `#/users`. */
  at?: string
  width?: number
  /** The address of the server in the browser. Default: that of `app`. */
  url?: string
}

let people = 0

/**
 * Opens the console in a browser of its own, signed in without the sign-in screen. An error on the page, a violation of its
 * content security policy, or a request to another server fails the test or suite at its end.
 *
 * @example
 * const { page } = await openConsole(endOfSuite(), app, { as: 'admin', at: '#/users' })
 * await page.getByRole('link', { name: 'ada@example.com' }).click()
 */
export async function openConsole(
  ending: Ending,
  app: TestApp,
  options: ConsoleOptions = {},
): Promise<ConsolePage> {
  const { at = '', width = 1280, url = app.url } = options
  const as = 'as' in options ? options.as : 'admin'
  const browser = await launchChromium()
  const context = await browser.newContext({
    viewport: { width, height: 800 },
    reducedMotion: 'reduce',
    permissions: ['clipboard-read', 'clipboard-write'],
  })
  context.setDefaultTimeout(15_000)
  const user = as ? await signIn(context, app, as, url) : { _id: '', email: '' }
  const page = await context.newPage()
  const complaints = listen(page, new URL(url).origin)
  ending.after(async () => {
    await context.close()
    assert.deepEqual(complaints, [], 'what the browser complained about')
  })
  await page.goto(`${url}/console${at}`)
  return {
    page,
    user,
    complaints,
    go: async (address) => {
      await page.evaluate(`location.hash = ${JSON.stringify(address)}`)
    },
    forgive: () => void complaints.splice(0),
  }
}

/** Puts the cookie of a new session into the browser. */
async function signIn(context: BrowserContext, app: TestApp, role: 'admin' | 'viewer', url: string) {
  const email = `${role}${++people}@console.example`
  await app.app.service('auth').users.create({ email, password: PASSWORD, role })
  const { refreshToken } = (await login(app, email)).body
  const opened = await app.request('POST', '/console/session', {
    body: { refreshToken },
    headers: { 'sec-fetch-site': 'same-origin' },
  })
  assert.equal(opened.status, 200, opened.text)
  const [name = '', value = ''] = opened.headers.get('set-cookie')!.split(';')[0]!.split('=')
  await context.addCookies([
    {
      name,
      value,
      domain: new URL(url).hostname,
      path: '/console/session',
      httpOnly: true,
      sameSite: 'Strict',
    },
  ])
  // Not in a frame, which may have no storage.
  await context.addInitScript({
    content: `if (self === top) localStorage.setItem('sixwire console: signed in', 'yes')`,
  })
  return (opened.body as { user: { _id: string; email: string } }).user
}

function listen(page: Page, origin: string): string[] {
  const complaints: string[] = []
  page.on('pageerror', (error) => complaints.push(error.stack ?? error.message))
  page.on('console', (message) => {
    // The status of an answer is the matter of the test.
    if (message.type() === 'error' && !message.text().startsWith('Failed to load resource'))
      complaints.push(message.text())
  })
  page.on('request', (request) => {
    const url = request.url()
    if (!url.startsWith(`${origin}/`) && !/^(?:data|blob):/.test(url)) complaints.push(`a request to ${url}`)
  })
  page.on('dialog', (dialog) => {
    complaints.push(`a dialog of a script: ${dialog.message()}`)
    void dialog.dismiss()
  })
  return complaints
}

const LOADING = 'main .loading, main [aria-busy="true"]'
const LOOK_AGAIN_MS = 100

/** Waits until the screen loads nothing any more. */
export async function settled(page: Page): Promise<void> {
  // Not waitForFunction, which evaluates text: the policy of the page refuses it.
  do await page.waitForTimeout(LOOK_AGAIN_MS)
  while (await page.evaluate<boolean>(`document.querySelector(${JSON.stringify(LOADING)}) !== null`))
}

/**
 * Watches whether the page shows what the server says in each answer of 400 or more.
 *
 * @returns waits for the answers so far, and fails if the message of one was not shown
 */
export function watchRefusals(page: Page): () => Promise<void> {
  const shown: Promise<string | undefined>[] = []
  async function isShown(response: Response): Promise<string | undefined> {
    const { error } = (await response.json()) as { error: { message: string } }
    return page
      .getByText(error.message)
      .first()
      .waitFor()
      .then(
        () => undefined,
        () => `${response.request().method()} ${response.url()}: ${response.status()} ${error.message}`,
      )
  }
  page.on('response', (response) => {
    if (response.status() >= 400) shown.push(isShown(response))
  })
  return async () => {
    const missing = await Promise.all(shown.splice(0))
    assert.deepEqual(missing.filter(Boolean), [], 'what the page does not show')
  }
}

/** The addresses of links, as they are written: `#/users`. */
export const addressesOf = (page: Page, selector: string): Promise<string[]> =>
  page.evaluate<string[]>(
    `[...document.querySelectorAll(${JSON.stringify(selector)})].map((one) => one.getAttribute('href'))`,
  )

/** The addresses of all screens: of each place of the menu its tabs, or the place itself if it has one screen. */
export async function screenAddresses(page: Page): Promise<string[]> {
  const screens: string[] = []
  for (const address of await addressesOf(page, '.navigation li > a')) {
    await page.evaluate(`location.hash = ${JSON.stringify(address)}`)
    await page.locator(`.navigation [href="${address}"][aria-current]`).waitFor({ state: 'attached' })
    const tabs = await addressesOf(page, '.screen-tabs a')
    screens.push(...(tabs.length > 0 ? tabs : [address]))
  }
  return screens
}

const axeFile = createRequire(import.meta.url).resolve('axe-core/axe.min.js')
const RULES = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa']

/** What axe finds on a page by the rules of WCAG 2.2 A and AA, one line each. */
export async function axeFaults(page: Page): Promise<string[]> {
  const isLoaded = await page.evaluate(() => 'axe' in globalThis)
  if (!isLoaded) await page.evaluate(await readFile(axeFile, 'utf8'))
  const { violations } = await page.evaluate(
    (tags) =>
      (globalThis as unknown as { axe: { run(options: object): Promise<AxeResults> } }).axe.run({
        runOnly: { type: 'tag', values: tags },
        // It would copy the sheets of shadow roots into <style>, which the policy of the page refuses.
        preload: false,
        resultTypes: ['violations'],
      }),
    RULES,
  )
  return violations.flatMap(({ id, nodes }) =>
    nodes.map(({ html, failureSummary }) => `${id}: ${html}: ${failureSummary}`),
  )
}

const WIDTHS = [1280, 768, 320]
const LOOKS = WIDTHS.flatMap((width) => [
  { width, colorScheme: 'light' as const, forcedColors: 'none' as const },
  { width, colorScheme: 'dark' as const, forcedColors: 'none' as const },
  { width, colorScheme: 'dark' as const, forcedColors: 'active' as const },
])

/**
 * Checks a page on a desktop, a tablet and a phone: nothing is wider than the screen, and axe finds nothing in light, dark
 * and forced colours. A short run asks axe for one look at random: that takes longer than anything else of a test.
 *
 * @param scene what the page shows, for the message
 */
export async function checkLooks(page: Page, scene: string): Promise<void> {
  const { height, width: before } = page.viewportSize()!
  for (const width of WIDTHS) {
    await page.setViewportSize({ width, height })
    const excess = await page.evaluate<number>('document.documentElement.scrollWidth - innerWidth')
    assert.ok(excess <= 0, `${scene}, ${width} px: the page is ${excess} px too wide`)
  }
  for (const { width, ...media } of sample(LOOKS, 1)) {
    await page.setViewportSize({ width, height })
    await page.emulateMedia(media)
    const look = `${scene}, ${width} px, ${media.colorScheme}, forced colours ${media.forcedColors}`
    assert.deepEqual(await axeFaults(page), [], look)
  }
  await page.emulateMedia({ colorScheme: null, forcedColors: null })
  await page.setViewportSize({ width: before, height })
}
