import { oneLine } from '../base/one-line.ts'
import { within } from '../base/within.ts'
import type { App } from '../app.ts'
import { defineAction } from './command.ts'
import { JSON_OPTION } from './option.ts'
import { print } from './print.ts'
import { withApp } from './with-app.ts'

const FAULT_CHARACTERS = 1_000
const LONGEST_WAIT_MS = 5_000
// A mail server may delay its greeting.
const LONGEST_WAIT_FOR_PROVIDERS_MS = 10_000

type Check = { name: string; ask: () => Promise<void>; limitMs: number }

export const check = defineAction({
  summary: 'Check the configuration, and whether everything it names can be reached',
  options: JSON_OPTION,
  details: `Reads the configuration as start does, opens the database, runs the migrations, and checks every wire
and every configured provider, with its credentials: one line each. Providers have ${LONGEST_WAIT_FOR_PROVIDERS_MS / 1000} seconds to answer;
nothing is sent. Providers that the sandbox stands in for are not checked. What can work and is likely to be a
mistake is a line that begins with "warning", as at the start.
Exits with 1 if a check fails.`,
  run: ({ options: { json } }) =>
    withApp(async (app) => {
      if (!json)
        for (const line of ['ok      configuration', ...app.warnings.map(warningLine)]) console.log(line)
      // All checks run at once; their lines are printed in order.
      const results = checksOf(app).map(async (one) => ({ name: one.name, fault: await faultOf(one) }))
      const checks: { name: string; ok: boolean; fault?: string }[] = [{ name: 'configuration', ok: true }]
      for (const result of results) {
        const { name, fault } = await result
        checks.push({ name, ok: fault === undefined, ...(fault !== undefined && { fault }) })
        if (!json) console.log(fault === undefined ? `ok      ${name}` : `failed  ${name}: ${fault}`)
      }
      const ok = checks.every((one) => one.ok)
      if (json) print(true, { ok, checks, warnings: app.warnings }, String)
      return ok ? 0 : 1
    }),
})

const warningLine = (line: string): string => `warning ${line}`

function checksOf(app: App): Check[] {
  const checks: Check[] = [
    { name: 'database', ask: () => app.db.ping(), limitMs: LONGEST_WAIT_MS },
    { name: 'policy', ask: () => app.checkPolicy(), limitMs: LONGEST_WAIT_MS },
  ]
  for (const [wire, ask] of app.health()) {
    checks.push({ name: wire, ask, limitMs: LONGEST_WAIT_MS })
    for (const [name, askProvider] of app.checks().get(wire)!)
      checks.push({ name: `${wire}: ${name}`, ask: askProvider, limitMs: LONGEST_WAIT_FOR_PROVIDERS_MS })
  }
  return checks
}

/** Why the check fails; undefined if it succeeds. */
async function faultOf({ ask, limitMs }: Check): Promise<string | undefined> {
  try {
    await within(limitMs, ask)
    return undefined
  } catch (error) {
    // An application's own provider may reject with anything.
    return oneLine(error instanceof Error ? error.message : String(error), FAULT_CHARACTERS)
  }
}
