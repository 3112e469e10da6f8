import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { test } from 'node:test'

import { COMMANDS_PAGE, commandsPage } from '../../../scripts/commands-page.ts'
import { PAGE, referencePage } from '../../../scripts/reference.ts'

test('docs/reference.md has every route, error code, setting and metric of the code', async () => {
  assert.equal(await readFile(PAGE, 'utf8'), await referencePage(), 'run npm run reference')
})

test('docs/commands.md has every command and option of the code', async () => {
  assert.equal(await readFile(COMMANDS_PAGE, 'utf8'), await commandsPage(), 'run npm run reference')
})

test('the alerts of docs/alerts.yml are about metrics that exist', async () => {
  const alerts = await readFile(new URL('../../../docs/alerts.yml', import.meta.url), 'utf8')
  const names = new Set(Array.from(alerts.matchAll(/\bsixwire_\w+/g), ([name]) => name))
  const page = await readFile(PAGE, 'utf8')
  assert.ok(names.size > 5)
  for (const name of names) assert.match(page, new RegExp(String.raw`^\| \x60${name}[\x60{]`, 'm'))
})
