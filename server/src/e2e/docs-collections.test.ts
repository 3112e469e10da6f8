// Every example of docs/collections.md runs, and answers what the page shows.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'

import { loadConfig } from '../app.ts'
import { startApp, type TestApp } from '../testing/app.ts'
import { someEngine } from '../testing/engines.ts'
import { applicationFolder, importFile, pageBlocks, shell } from '../testing/examples.ts'

type Variables = Record<string, string>

/** What is left to be said of an answer: its status, and the document without what the server sets, or the error. */
function shownOf(output: string, variables: Variables): string {
  const [, text, status] = /^(.*) (\d{3})\n$/s.exec(output)!
  const { error, data, ...document } = JSON.parse(text!)
  const shown = error ? errorOf(error) : JSON.stringify(withoutServiceFields(data ?? document))
  const named = Object.entries(variables).reduce(
    (line, [name, value]) => line.replaceAll(value, `$${name}`),
    shown,
  )
  return `${status} ${named}`
}

type AnsweredError = { code: string; details?: { issues?: { path: string; message: string }[] } }

function errorOf({ code, details }: AnsweredError): string {
  const { issues } = details ?? {}
  if (issues) return `${code} ${issues.map(({ path, message }) => `${path}: ${message}`).join('; ')}`
  return details ? `${code} ${JSON.stringify(details)}` : code
}

function withoutServiceFields(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutServiceFields)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .filter(([name]) => !['_id', 'createdAt', 'updatedAt'].includes(name))
      .map(([name, inner]) => [name, withoutServiceFields(inner)]),
  )
}

/** Runs the calls of a block one by one, and compares what they answer. */
async function runCalls(block: string, define: string, app: TestApp, variables: Variables): Promise<number> {
  const calls = block.trim().split('\n\n')
  for (const call of calls) {
    const [, script = '', shown, variable] = /^(.*?)\n# ([^\n]*)(?:\n([A-Z]+)=…)?$/s.exec(call)!
    const output = await shell(`${define}\n${script}`, app, variables)
    if (variable) variables[variable] = JSON.parse(output.replace(/ \d{3}\n$/, ''))._id
    assert.equal(shownOf(output, variables), shown, script)
  }
  return calls.length
}

someEngine((engine) => {
  test('the calls of docs/collections.md answer what they show', async (t) => {
    const databaseUrl = await engine.migratedUrl()
    let app = await startApp(t, engine, { databaseUrl })
    const [setUp, ...blocks] = await pageBlocks('docs/collections.md', 'ts', 'sh')
    const [register, define] = setUp!.text.split('\n\n')
    const accounts = (await shell(register!, app)).replaceAll('}{', '}\n{').trim().split('\n')
    const variables: Variables = {}
    for (const [i, name] of ['ADMIN', 'ADA', 'BOB', 'CAROL'].entries()) {
      const { token, user } = JSON.parse(accounts[i]!)
      variables[name] = token
      variables[`${name}_ID`] = user._id
    }
    let [shown, servers] = [0, 0]
    for (const { language, text } of blocks) {
      const isConfig = text.includes('export default')
      if (language === 'sh') shown += await runCalls(text, define!, app, variables)
      else if (isConfig) {
        servers++
        await app.stop()
        const folder = await applicationFolder(t, { 'sixwire.config.ts': text })
        app = await startApp(t, engine, { databaseUrl, config: await loadConfig(folder) })
      } else await importFile(join(await applicationFolder(t, { 'try.ts': text }), 'try.ts'))
    }
    assert.ok(servers >= 6 && shown >= 40, `${servers} ${shown}`)
  })
})
