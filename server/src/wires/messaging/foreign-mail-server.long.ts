// Mail through a mail server of another make: Exim, where it is installed (Debian: exim4-daemon-light), with its own
// ideas of TLS, signing in, pipelining and what a line is.
import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdir, mkdtemp, rm, readdir, readFile, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'

import PostalMime, { type Email } from 'postal-mime'

import type { TestAnswer } from '../../testing/app.ts'
import { selfSigned } from '../../testing/certificate.ts'
import { eachEngine, type Ending } from '../../testing/engines.ts'
import { freePort } from '../../testing/free-port.ts'
import { applicationFolder, startProgram, type Program } from '../../testing/program.ts'

const EXIM = ['/usr/sbin/exim4', '/usr/sbin/exim'].find((path) => !spawnSync(path, ['-bV']).error)
const skip = EXIM === undefined ? 'needs exim4 on this machine' : false

const configuration = (folder: string): string => `
primary_hostname = mail.example
keep_environment =
spool_directory = ${folder}/spool
log_file_path = ${folder}/spool/%slog
pid_file_path = ${folder}/spool/pid
tls_advertise_hosts = *
tls_certificate = ${folder}/certificate.pem
tls_privatekey = ${folder}/key.pem
auth_advertise_hosts = \${if def:tls_in_cipher {*}{}}
deliver_drop_privilege = true
# By default it delivers no more than ten mails of a connection at once.
smtp_accept_queue_per_connection = 0
acl_smtp_rcpt = recipient
acl_smtp_data = accept
begin acl
recipient:
  deny message = There is no such mailbox
       local_parts = nobody
  accept authenticated = *
begin routers
everybody:
  driver = accept
  transport = folders
begin transports
folders:
  driver = appendfile
  directory = ${folder}/mail
  maildir_format
  envelope_to_add
begin authenticators
plain:
  driver = plaintext
  public_name = PLAIN
  server_prompts = :
  server_set_id = $auth2
  server_condition = \${if and{{eq{$auth2}{ada}}{eq{$auth3}{an open sesame}}}}
`

type Received = Email & { raw: string }

/** An Exim that accepts mail of clients that sign in under TLS, into a folder for each receiver. */
async function startExim(ending: Ending) {
  // Where root starts it, it goes over to a user of its own, for whom the folders of the tests are closed.
  const folder = await mkdtemp('/tmp/sixwire-exim-')
  await chmod(folder, 0o711)
  for (const name of ['spool', 'mail']) {
    await mkdir(join(folder, name))
    await chmod(join(folder, name), 0o777)
  }
  const certificate = join(folder, 'certificate.pem')
  const key = join(folder, 'key.pem')
  const { key: privateKey, cert } = selfSigned()
  await writeFile(key, privateKey)
  await writeFile(certificate, cert)
  await chmod(key, 0o644)
  const file = join(folder, 'exim.conf')
  await writeFile(file, configuration(folder))
  const port = await freePort()
  const child = spawn(EXIM!, ['-C', file, '-bdf', '-oX', `127.0.0.1.${port}`], {
    stdio: 'inherit',
    detached: true,
  })
  const exited = once(child, 'exit').then(([code, signal]) => {
    throw new Error(`Exim ended: ${code ?? signal}`)
  })
  exited.catch(() => undefined)
  ending.after(async () => {
    // With those that it forked for each connection.
    process.kill(-child.pid!, 'SIGKILL')
    await exited.catch(() => undefined)
    await rm(folder, { recursive: true, force: true, maxRetries: 10 })
  })
  const listens = async (): Promise<boolean> => {
    const socket = connect(port, '127.0.0.1')
    const opened = await once(socket, 'data').then(
      () => true,
      () => false,
    )
    socket.destroy()
    return opened
  }
  while (!(await Promise.race([listens(), exited]))) await delay(50)
  /** The mails that came for somebody so far, each also as it came. */
  async function mailsOf(person: string): Promise<Received[]> {
    const names = await readdir(join(folder, 'mail/new')).catch(() => [])
    const mails = await Promise.all(names.map((name) => readFile(join(folder, 'mail/new', name), 'latin1')))
    // Whom the envelope named is told by the server's own line, the first one.
    const own = `Envelope-to: ${person}@example.com\n`
    return Promise.all(
      mails
        .filter((mail) => mail.startsWith(own))
        .map((mail) => mail.slice(own.length))
        .map(async (raw) => ({ ...(await PostalMime.parse(Buffer.from(raw, 'latin1'))), raw })),
    )
  }
  /** The first mail for somebody. */
  async function mailFor(person: string): Promise<Received> {
    for (;;) {
      const [mail] = await mailsOf(person)
      if (mail) return mail
      await Promise.race([delay(50), exited])
    }
  }
  return { port, certificate, mailsOf, mailFor }
}

eachEngine((engine) => {
  /** The real program, which sends over Exim. */
  async function run(
    ending: Ending,
    words: string[],
    { port, certificate }: { port: number; certificate: string },
    password: string,
  ): Promise<Program> {
    const folder = await applicationFolder(ending, {})
    const environment = {
      DATA_DIR: join(folder, 'data'),
      DATABASE_URL: await engine.freshUrl(),
      NODE_EXTRA_CA_CERTS: certificate,
      SMTP_URL: `smtp://ada:${encodeURIComponent(password)}@localhost:${port}`,
      MAIL_FROM: 'The Shop <shop@example.com>',
    }
    return startProgram(ending, words, { folder, environment })
  }

  test('what the newcomer saw in the sandbox arrives at a real mail server', { skip }, async (t) => {
    const exim = await startExim(t)
    const program = await run(t, ['start'], exim, 'an open sesame')
    const url = await program.url()
    const call = async (path: string, body: unknown, token?: string) => {
      const response = await fetch(url + path, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...(token && { authorization: `Bearer ${token}` }) },
        body: JSON.stringify(body),
      })
      return { status: response.status, body: (await response.json()) as TestAnswer['body'] }
    }
    const ada = { email: 'ada@example.com', password: 'a long passphrase' }
    const { body: registered } = await call('/auth/register', ada)
    const verification = await exim.mailFor('ada')
    assert.match(verification.subject!, /^Confirm your email address/)
    const token = /#token=([\w.-]+)/.exec(verification.text!)![1]
    assert.equal((await call('/auth/verify-email', { token })).status, 200)

    const attached = Uint8Array.from({ length: 5_000 }, (_, n) => n % 256)
    const html = `<p>Grüße, 世界 👋</p>\n.\n..\n<p>${'long '.repeat(500)}</p>\nFrom here on\n`
    const sent = await call(
      '/messaging/email',
      {
        to: ['ben@example.com', 'carka@example.com'],
        cc: 'cc@example.com',
        bcc: 'hidden@example.com',
        replyTo: 'answers@example.com',
        subject: 'Grüße aus Zürich 👋',
        body: html,
        text: '.\n.. two dots\nFrom me\n',
        attachments: [
          {
            filename: 'Übersicht.bin',
            contentType: 'application/octet-stream',
            content: Buffer.from(attached).toString('base64'),
          },
        ],
      },
      registered['token'],
    )
    assert.equal(sent.status, 200, JSON.stringify(sent.body))
    for (const person of ['ben', 'carka', 'cc', 'hidden']) {
      const mail = await exim.mailFor(person)
      assert.equal(mail.subject, 'Grüße aus Zürich 👋', person)
      assert.deepEqual([mail.from?.name, mail.from?.address], ['The Shop', 'shop@example.com'])
      assert.deepEqual(
        mail.to?.map(({ address, name }) => [address, name]),
        [
          ['ben@example.com', ''],
          ['carka@example.com', ''],
        ],
      )
      assert.deepEqual(
        mail.replyTo?.map(({ address }) => address),
        ['answers@example.com'],
      )
      assert.equal(mail.html?.trim(), html.trim())
      assert.equal(mail.text?.trim(), '.\n.. two dots\nFrom me')
      assert.doesNotMatch(mail.raw, /hidden@example\.com/)
      assert.deepEqual(
        mail.attachments.map(({ filename, content }) => [filename, new Uint8Array(content as ArrayBuffer)]),
        [['Übersicht.bin', attached]],
      )
      // RFC 5322, section 2.1.1, and RFC 5321, section 2.3.8: what came is what a server may pass on.
      for (const line of mail.raw.split('\n')) assert.ok(line.length <= 998, line)
    }

    const nobody = await call(
      '/messaging/email',
      { to: 'nobody@example.com', subject: 'x', body: 'x' },
      registered['token'],
    )
    assert.deepEqual([nobody.status, nobody.body['error'].code], [500, 'SEND_FAILED'])
    assert.match(nobody.body['error'].message, /There is no such mailbox/)

    // More at a time than connections, over connections that are used again.
    const many = await Promise.all(
      Array.from({ length: 40 }, (_, n) =>
        call(
          '/messaging/email',
          { to: 'many@example.com', subject: `Mail ${n}`, body: 'x' },
          registered['token'],
        ),
      ),
    )
    assert.deepEqual(new Set(many.map(({ status }) => status)), new Set([200]))
    while ((await exim.mailsOf('many')).length < 40) await delay(50)
    const subjects = (await exim.mailsOf('many')).map(({ subject }) => subject)
    assert.equal(new Set(subjects).size, 40)
  })

  test('the check reports wrong credentials', { skip }, async (t) => {
    const exim = await startExim(t)
    const program = await run(t, ['check'], exim, 'wrong')
    assert.equal(await program.ended, 1)
    assert.match(program.output() + program.errors(), /535/)
    assert.doesNotMatch(program.output() + program.errors(), /wrong@/)
  })
})
