import assert from 'node:assert/strict'
import { execFile, spawnSync } from 'node:child_process'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { before, describe, test } from 'node:test'
import { promisify } from 'node:util'

import { runHere } from '../testing/command.ts'
import { endOfSuite, temporaryFolder } from '../testing/engines.ts'
import { isGroup } from './command.ts'
import { loadCommands } from './commands.ts'

const run = promisify(execFile)

const script = async (shell: string) => {
  const { code, output, errors } = await runHere(['completion', shell])
  assert.deepEqual([code, errors], [0, ''])
  return output
}

/** Whether a shell is on this machine: without it its script is not tried. */
const lacks = (shell: string) =>
  spawnSync(shell, ['-c', 'true']).status === 0 ? false : `there is no ${shell} on this machine`

describe('the completion of bash', () => {
  let folder: string
  const ending = endOfSuite()
  before(async () => {
    folder = await temporaryFolder(ending)
    await writeFile(join(folder, 'sixwire.bash'), await script('bash'))
    for (const name of ['archive of today', 'c*', 'c1']) await writeFile(join(folder, name), '')
  })

  /** What bash offers for the last word of a line, by its own machinery. */
  async function complete(line: string): Promise<string[]> {
    const words = line.split(' ')
    const text = `
      source ./sixwire.bash
      COMP_WORDS=(${words.map((word) => `'${word}'`).join(' ')}); COMP_CWORD=${words.length - 1}
      $(complete -p sixwire | sed 's/.*-F \\([^ ]*\\) .*/\\1/')
      printf '%s\\n' "\${COMPREPLY[@]}"`
    const { stdout } = await run('bash', ['--norc', '-uc', text], { cwd: folder })
    return stdout.split('\n').filter(Boolean)
  }

  test('has every command, action and option of the table', async () => {
    const commands = await loadCommands()
    assert.deepEqual((await complete('sixwire ')).toSorted(), [...Object.keys(commands), 'help'].toSorted())
    for (const [name, command] of Object.entries(commands)) {
      const optionsOf = (options: object = {}) => Object.keys(options).map((one) => `--${one}`)
      if (!isGroup(command)) {
        assert.deepEqual(await complete(`sixwire ${name} --`), optionsOf(command.options))
        continue
      }
      assert.deepEqual(await complete(`sixwire ${name} `), Object.keys(command.actions))
      const [action, { options }] = Object.entries(command.actions)[0]!
      assert.deepEqual(await complete(`sixwire ${name} ${action} --`), optionsOf(options))
    }
  })

  test('completes what has begun, after arguments too, and files where one is taken', async () => {
    for (const [line, offered] of [
      ['sixwire st', ['start']],
      ['sixwire help bac', ['backup']],
      ['sixwire user set', ['set-email', 'set-password']],
      ['sixwire user list --li', ['--limit']],
      ['sixwire user list ada@example.com --js', ['--json']],
      ['sixwire user list --limit ', []],
      ['sixwire user list --limit 5 --of', ['--offset']],
      ['sixwire start --port 3000 --h', ['--host']],
      ['sixwire backup verify arch', ['archive of today']],
      ['sixwire backup create --to arch', ['archive of today']],
      // A name is no pattern of others.
      ['sixwire backup create --to c', ['c*', 'c1']],
      ['sixwire backup verify c', ['c*', 'c1']],
      ['sixwire nonsense ', []],
    ] as const)
      assert.deepEqual((await complete(line)).toSorted(), offered, line)
  })
})

for (const shell of ['zsh', 'fish'])
  test(`the completion of ${shell} is a script that ${shell} reads`, { skip: lacks(shell) }, async (t) => {
    const file = join(await temporaryFolder(t), 'script')
    await writeFile(file, await script(shell))
    await run(shell, ['-n', file])
  })

test('a folder called .env, as of Python, is in the way of neither completion nor version', async (t) => {
  const folder = await temporaryFolder(t)
  await mkdir(join(folder, '.env'))
  for (const line of [['completion', 'bash'], ['version']]) {
    const { code, output, errors } = await runHere(line, { folder })
    assert.deepEqual([code, errors], [0, ''])
    assert.match(output, /sixwire/)
  }
})

test('sixwire completion without a known shell names them', async () => {
  const { code, errors } = await runHere(['completion', 'tcsh'])
  assert.equal(code, 2)
  assert.match(errors, /"tcsh" is not an action: use one of bash, zsh, fish/)
})
