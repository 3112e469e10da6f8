import assert from 'node:assert/strict'
import { readdir, readFile, stat, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'

import { temporaryFolder } from '../testing/engines.ts'
import { closePart, finishPart, openPart } from './part-file.ts'

test('a file that one command has finished is not changed by another one that began before', async (t) => {
  const folder = await temporaryFolder(t)
  const to = join(folder, 'shop.age')
  const [one, other] = [await openPart(to), await openPart(to)]
  await one.file.writeFile('of the one')
  await assert.rejects(finishPart(one), { message: `another command writes ${to}: name another file` })
  await closePart(one)
  await other.file.writeFile('of the other')
  await finishPart(other)
  await closePart(other)
  assert.deepEqual([await readdir(folder), await readFile(to, 'utf8')], [['shop.age'], 'of the other'])
})

test('what is left beside it is replaced: a file that others can read, or a link', async (t) => {
  const folder = await temporaryFolder(t)
  const [to, kept] = [join(folder, 'shop.age'), join(folder, 'kept')]
  await writeFile(kept, 'kept', { mode: 0o644 })
  await symlink(kept, `${to}.part`)
  const part = await openPart(to)
  await part.file.writeFile('new')
  await finishPart(part)
  await closePart(part)
  assert.deepEqual([await readFile(kept, 'utf8'), (await stat(to)).mode & 0o777], ['kept', 0o600])
})

test('- is no file', async () => {
  await assert.rejects(openPart('-'), { message: /^- is no file: .*name a file$/ })
})
