import { sql } from '../../../../db/sql.ts'
import { startApp } from '../../../../testing/app.ts'
import type { Browser } from '../../../../testing/browser.ts'
import type { Ending, Engine } from '../../../../testing/engines.ts'
import { startOidcIssuer } from '../../../../testing/oidc-issuer.ts'
import { browserOf, callbackOf, CLIENT, NAMES, startOf } from '../../../../testing/provider-login.ts'

/** A server and a real issuer that is its idpa, and ways through both. */
export type WithIssuer = Awaited<ReturnType<typeof startWithIssuer>>

export async function startWithIssuer(ending: Ending, engine: Engine) {
  const issuer = await startOidcIssuer(ending, { redirectUris: [callbackOf('idpa')] })
  const environment: Record<string, string> = {
    ...NAMES,
    IDPA_ISSUER: issuer.url,
    IDPA_CLIENT_ID: CLIENT.id,
    IDPA_CLIENT_SECRET: CLIENT.secret,
    // So that the same state can be tried there.
    IDPB_CLIENT_ID: CLIENT.id,
    IDPB_CLIENT_SECRET: CLIENT.secret,
    IDPB_AUTHORIZE_URL: `${issuer.url}/auth`,
    IDPB_TOKEN_URL: `${issuer.url}/token`,
    IDPB_API_URL: `${issuer.url}/api`,
  }
  const app = await startApp(ending, engine, { environment })

  async function signIn(who: string, { query = '', on = app, browser = browserOf(on), deny = false } = {}) {
    return issuer.consent(browser, await browser.visit(startOf('idpa', query)), who, { deny })
  }

  /** The address of the callback, right before the browser asks it. */
  async function comeBack(who: string, browser: Browser, query = ''): Promise<URL> {
    const stopAt = callbackOf('idpa')
    const page = await browser.visit(startOf('idpa', query), { stopAt })
    return (await issuer.consent(browser, page, who, { stopAt })).url
  }

  const count = async (table: string, on = app): Promise<number> => {
    const counted = await on.app.db.get<{ total: number }>(
      sql`select count(*) as total from ${sql.literal(table)}`,
    )
    return counted!.total
  }

  return { app, issuer, environment, signIn, comeBack, count }
}
