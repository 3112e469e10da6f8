// What the tests of sign-in through identity providers share: a server, its address, and ways through it.
import type { TestApp } from './app.ts'
import { createBrowser, type Browser, type BrowserPage } from './browser.ts'
import { me } from './auth.ts'

/** The names by which browsers and providers know the server and its frontend. */
export const PUBLIC_URL = 'https://api.example'
export const APP_URL = 'https://shop.example'
export const NAMES = { PUBLIC_URL, APP_URL }

export const CLIENT = { id: 'sixwire-tests', secret: 'the secret of a client that only tests know' }

/** A browser that reaches the server by its public name. */
export const browserOf = (app: TestApp): Browser => createBrowser({ [PUBLIC_URL]: app.url })

/**
 * The address of the callback, for a browser that stops right before it.
 *
 * @param name `idpa`, or `providers/company`
 */
export const callbackOf = (name: string): string => `${PUBLIC_URL}/auth/${name}/callback`

export const startOf = (name: string, query = ''): string => `${PUBLIC_URL}/auth/${name}${query}`

/** Who the fragment's token names; throws where the page says an error. */
export async function personOf(app: TestApp, page: BrowserPage) {
  const { token, error } = page.fragment
  if (token === undefined) throw new Error(`not signed in: ${error ?? page.url.href} ${page.text}`)
  const { body, status } = await me(app, token)
  if (status !== 200) throw new Error(`GET /auth/me answered ${status}`)
  return body.user
}
