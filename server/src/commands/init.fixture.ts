import assert from 'node:assert/strict'
import { mkdir, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

import { runHere } from '../testing/command.ts'
import { temporaryFolder, type Ending } from '../testing/engines.ts'

const ROOT = fileURLToPath(new URL('../../../', import.meta.url))

/** A folder in which `sixwire init` ran, and `npm install` is taken to have linked this checkout. */
export async function initiated(ending: Ending): Promise<{ folder: string; output: string }> {
  const parent = await temporaryFolder(ending)
  const { code, output, errors } = await runHere(['init', 'My shop'], { folder: parent })
  assert.equal(code, 0, errors)
  const folder = join(parent, 'My shop')
  await mkdir(join(folder, 'node_modules/@types'), { recursive: true })
  await symlink(join(ROOT, 'server'), join(folder, 'node_modules/sixwire'), 'dir')
  await symlink(join(ROOT, 'node_modules/@types/node'), join(folder, 'node_modules/@types/node'), 'dir')
  return { folder, output }
}
