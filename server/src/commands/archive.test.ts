// What a person does with an archive: it is made while a server runs, and is an installation on the other engine.
import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { before, describe, test } from 'node:test'

import { as, registerAs } from '../testing/administration.ts'
import { startApp, type TestApp } from '../testing/app.ts'
import { runHere } from '../testing/command.ts'
import { eachEngine, endOfSuite, temporaryFolder } from '../testing/engines.ts'
import { startProgram } from '../testing/program.ts'
import { TEST_SECRET } from '../testing/templates.ts'
import { until } from '../testing/until.ts'

const PASSPHRASE = 'le cheval correct est éveillé'
const BYTES = 'the bytes of a file'

eachEngine((from) =>
  eachEngine((to) => {
    if (from.name === to.name) return
    describe(`an installation that is archived, and unarchived on ${to.name}`, () => {
      const end = endOfSuite()
      let old: TestApp
      let folder: string
      let environment: Record<string, string>
      let archive: string
      let user: Awaited<ReturnType<TestApp['register']>>
      let file: string
      let url: string

      const sixwire = (words: readonly string[], input?: string) =>
        runHere(words, { folder, environment, ...(input !== undefined && { input }) })
      const passphrase = () => ['--passphrase-file', join(folder, 'passphrase')]

      before(async () => {
        folder = await temporaryFolder(end)
        const databaseUrl = await from.freshUrl()
        environment = {
          DATABASE_URL: databaseUrl,
          DATA_DIR: join(folder, 'data'),
          SIXWIRE_SECRET: TEST_SECRET,
        }
        archive = join(folder, 'shop.age')
        // As another system may write the same letters.
        await writeFile(join(folder, 'passphrase'), `${PASSPHRASE.normalize('NFD')}\n`)
        old = await startApp(end, from, { databaseUrl, environment })
        user = await old.register()
        const admin = await registerAs(old, 'admin')
        const changed = { version: 0, values: { name: 'Pottery' } }
        assert.equal((await as(old, admin, 'PATCH /core/settings', changed)).status, 200)
        const upload = new FormData()
        upload.append('file', new Blob([BYTES]), 'a.txt')
        const headers = { authorization: `Bearer ${user.token}` }
        const uploaded = await fetch(`${old.url}/store/upload`, { method: 'POST', body: upload, headers })
        file = ((await uploaded.json()) as { _id: string })._id
        url = await to.freshUrl()
      })

      test('is one file that only its owner can read, and that tells nothing', async () => {
        const { code, output, errors } = await sixwire(['archive', archive], PASSPHRASE)
        assert.equal(code, 0, errors)
        assert.match(output, /^\d+ rows of \d+ tables and 1 file \(19 bytes\) are in \S+\.\n/)
        assert.equal((await stat(archive)).mode & 0o777, 0o600)
        const text = await readFile(archive, 'latin1')
        assert.match(text, /^age-encryption\.org\/v1\n/)
        for (const hidden of [TEST_SECRET, BYTES, user.email, 'auth_users'])
          assert.ok(!text.includes(hidden) && !output.includes(TEST_SECRET))
      })

      test('is not replaced, nor made with a passphrase that can be guessed', async () => {
        const again = await sixwire(['archive', archive, ...passphrase()])
        assert.deepEqual(
          [again.code, again.errors],
          [1, `sixwire: ${archive} exists already: name another file\n`],
        )
        const short = await sixwire(['archive', join(folder, 'b.age')], 'secret')
        assert.equal(
          short.errors,
          'sixwire: the passphrase is shorter than 12 characters: take a longer one\n',
        )
        assert.deepEqual(
          (await readdir(folder)).filter((name) => name.startsWith('b.age')),
          [],
        )
      })

      test('needs a place for its secret, its passphrase, and a whole file', async () => {
        const files = join(folder, 'other')
        const words = ['unarchive', archive, '--to', url, '--files', files]
        const cut = join(folder, 'cut.age')
        await writeFile(cut, (await readFile(archive)).subarray(0, -100))
        for (const [one, input, message, secret = TEST_SECRET] of [
          [
            words,
            PASSPHRASE,
            /^sixwire: the secret of the archive is not the one here, .*--secret FILE/,
            'x'.repeat(40),
          ],
          [words, 'a wrong passphrase', /^sixwire: the passphrase is not that of the archive\n$/],
          [
            words.slice(0, 4),
            PASSPHRASE,
            /^sixwire: --files: say where the files go\. \S+uploads, which the configuration here names/,
          ],
          [words.with(1, cut), PASSPHRASE, /^sixwire: the archive is damaged: .*Nothing was changed\n$/],
          [
            [...words.with(1, join(folder, 'none.age')), ...passphrase()],
            '',
            /^sixwire: \S+none\.age: there is no such file or folder\n$/,
          ],
        ] as const) {
          const { code, errors } = await runHere(one, {
            folder,
            environment: { ...environment, SIXWIRE_SECRET: secret },
            input,
          })
          assert.equal(code, 1)
          assert.match(errors, message)
        }
        assert.ok(!existsSync(join(files, 'uploads')))
      })

      test('answers as before from the other engine, with its files and sessions', async () => {
        const files = join(folder, 'new')
        const secret = join(files, 'secret')
        const words = ['unarchive', archive, '--to', url, '--files', files, '--secret', secret]
        const { code, output, errors } = await sixwire([...words, ...passphrase()])
        assert.equal(code, 0, errors)
        assert.match(
          output,
          /^\d+ rows of \d+ tables and 1 file \(19 bytes\) of \S+ are in \S+, and were compared\.\nSet DATABASE_URL to it, and SIXWIRE_SECRET to what \S+ holds\.\nSet DATA_DIR=/,
        )
        assert.ok(!output.includes(TEST_SECRET))
        assert.equal((await stat(secret)).mode & 0o777, 0o600)
        const app = await startApp(end, to, {
          databaseUrl: url,
          environment: { DATA_DIR: files, SIXWIRE_SECRET: await readFile(secret, 'utf8') },
        })
        assert.equal((await app.request('GET', '/info')).body.name, 'Pottery')
        for (const path of ['/auth/me', `/store/files/${file}`, `/store/files/${file}/content`]) {
          const [one, other] = [
            await old.request('GET', path, { token: user.token }),
            await app.request('GET', path, { token: user.token }),
          ]
          assert.deepEqual([one.status, one.text], [200, other.text])
        }
        // The old one goes on.
        assert.equal((await old.request('POST', '/store/books', { token: user.token, body: {} })).status, 201)
        const again = await sixwire([...words, ...passphrase()])
        assert.match(again.errors, /holds data already: .*Nothing was changed\n$/)
        assert.ok(existsSync(join(files, 'uploads')))
      })
    })
  }),
)

eachEngine((engine) => {
  test('a command that is killed leaves nothing that looks whole, and is repeated', async (t) => {
    const folder = await temporaryFolder(t)
    const environment = {
      DATABASE_URL: await engine.migratedUrl(),
      DATA_DIR: join(folder, 'data'),
      SIXWIRE_SECRET: TEST_SECRET,
      SIXWIRE_SANDBOX: 'off',
    }
    const archive = join(folder, 'shop.age')
    // It waits for the passphrase, with the part file open.
    const program = startProgram(t, ['archive', archive], { folder, environment })
    await until(() => existsSync(`${archive}.part`))
    await program.kill()
    assert.ok(!existsSync(archive))
    const made = await runHere(['archive', archive], { folder, environment, input: PASSPHRASE })
    assert.equal(made.code, 0, made.errors)
    assert.ok(existsSync(archive) && !existsSync(`${archive}.part`))
  })
})
