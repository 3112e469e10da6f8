// Texts of mails that administrators write, by language: checked, sent by every replica, and taken back.
import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, test } from 'node:test'

import { as, auditOf, registerAs, type TestPerson } from '../../../testing/administration.ts'
import { startApp, type TestApp } from '../../../testing/app.ts'
import { startReplicas } from '../../../testing/auth.ts'
import { eachEngine, temporaryFolder } from '../../../testing/engines.ts'
import { startMailServer } from '../../../testing/mail-server.ts'
import { until } from '../../../testing/until.ts'

const GERMAN = {
  subject: 'Neues Passwort für {{app}}',
  html: '<p>Hallo{{#name}} {{name}}{{/name}}, *** <a href="{{link}}">hier</a> geht es weiter: Passwort: neu</p>',
}

const textOptions = (name: string, language: string, text: Record<string, string | null>) =>
  Object.fromEntries(
    Object.entries(text).map(([part, value]) => [`messaging.texts.${name}.${language}.${part}`, value]),
  )

async function change(app: TestApp, admin: TestPerson, values: Record<string, unknown>) {
  const { version } = (await as(app, admin, 'GET /core/settings')).body
  return as(app, admin, 'PATCH /core/settings', { version, values })
}

eachEngine((engine) => {
  describe('texts of mails that administrators write', () => {
    test('a mail to an account is in its language, on every replica, until the text is taken back', async (t) => {
      const mails = await startMailServer(t)
      const environment = { SMTP_URL: mails.url, MAIL_FROM: 'shop@example.com' }
      const [one, other] = await startReplicas(t, engine, { environment })
      const admin = await registerAs(one, 'admin')
      const [german, english] = [await registerAs(one, 'user'), await registerAs(one, 'user')]
      await as(one, german, 'PATCH /auth/me', { metadata: { language: 'de-AT' } })
      const saved = await change(one, admin, textOptions('reset-password', 'de', GERMAN))
      assert.equal(saved.status, 200, saved.text)

      const forget = (app: TestApp, { email }: TestPerson) =>
        app.request('POST', '/auth/forgot-password', { body: { email } })
      const subjectTo = async ({ email }: TestPerson, subject: RegExp) => {
        let mail = await mails.mailTo(email)
        while (!subject.test(mail.subject)) mail = await mails.mailTo(email)
        return mail
      }
      await forget(one, german)
      const mail = await subjectTo(german, /^Neues Passwort für /)
      assert.match(mail.parsed.html!, /<html lang="de">[^]*\*\*\* <a href="http[^"]*#token=/)
      await forget(one, english)
      await subjectTo(english, /^Choose a new password/)

      one.clock.advance(2_000)
      await until(async () => (await as(other, admin, 'GET /core/settings')).body.inForce)
      const preview = (
        await as(other, admin, 'POST /messaging/templates/reset-password/preview', { language: 'de' })
      ).body
      assert.match(preview.subject, /^Neues Passwort/)
      const { texts, languages } = (await as(other, admin, 'GET /messaging/templates/reset-password')).body
      assert.deepEqual(languages, ['en', 'de'])
      assert.deepEqual(texts[1], { language: 'de', source: 'console', ...GERMAN })
      const [entry] = await auditOf(one, admin, 'settings:1', 'settings.*')
      assert.equal(
        (entry!.after as Record<string, string>)['messaging.texts.reset-password.de.html'],
        GERMAN.html,
      )

      assert.equal(
        (await change(one, admin, textOptions('reset-password', 'de', { subject: null, html: null }))).status,
        200,
      )
      await forget(one, german)
      await subjectTo(german, /^Choose a new password/)
      assert.equal((await as(one, admin, 'POST /core/settings/versions/1/restore')).status, 200)
      assert.deepEqual((await as(one, admin, 'GET /messaging/templates/reset-password')).body.languages, [
        'en',
        'de',
      ])
    })

    test('a text that would not work is refused at its option, with the placeholders that there are', async (t) => {
      const app = await startApp(t, engine)
      const admin = await registerAs(app, 'admin')
      for (const [name, text, part, message] of [
        [
          'reset-password',
          { ...GERMAN, html: '{{link}}{{nmae}}' },
          'html',
          /^there is no placeholder \{\{nmae\}\}: did you mean name\?: there are \{\{name\}\}, \{\{link\}\}, \{\{app\}\}, \{\{appUrl\}\}, \{\{appColor\}\}, \{\{appColorText\}\}$/,
        ],
        ['reset-password', { ...GERMAN, html: 'Hallo' }, 'html', /^\{\{link\}\} is missing/],
        [
          'reset-password',
          { ...GERMAN, html: '{{#name}}{{link}}{{/name}}' },
          'html',
          /^\{\{link\}\} is missing/,
        ],
        [
          'reset-password',
          { ...GERMAN, html: '{{^link}}Hallo{{/link}}' },
          'html',
          /^\{\{link\}\} is missing/,
        ],
        ['reset-password', { ...GERMAN, text: 'Hallo' }, 'text', /^\{\{link\}\} is missing/],
        [
          'reset-password',
          { ...GERMAN, html: '{{link}}{{#nmae}}{{name}}{{/nmae}}' },
          'html',
          /^there is no placeholder \{\{nmae\.name\}\}/,
        ],
        ['reset-password', { ...GERMAN, html: '{{link}}{{{name}}}' }, 'html', /would be shown as HTML/],
        ['reset-password', { html: GERMAN.html }, 'html', /needs a subject/],
        ['reset-password', { ...GERMAN, html: '{{#link}}' }, 'html', /Unclosed section "link"/],
        ['reset-password', { text: 'Hallo' }, 'text', /^it is a text message, and a mail in en$/],
        ['sign-in-code', { text: 'Hallo {{app}}' }, 'text', /\{\{code\}\} is missing/],
        ['own', { ...GERMAN, html: '{{> part}}' }, 'html', /partials are not supported/],
        ['layout', GERMAN, 'html', /the layout is a file/],
      ] as const) {
        const refused = await change(app, admin, textOptions(name, 'de', text))
        assert.equal(refused.status, 400, refused.text)
        const [issue] = refused.body.error.details.issues
        assert.equal(issue.path.split('.').slice(0, 4).join('.'), `/body/values/messaging.texts.${name}.de`)
        assert.match(issue.message, message, part)
      }
      const values = { 'messaging.texts.reset-password.german.html': 'Hallo' }
      assert.match((await change(app, admin, values)).text, /no such option/)
      const draft = await as(app, admin, 'POST /messaging/templates/reset-password/preview', {
        draft: { subject: 'Hello', html: '{{nmae}}' },
      })
      assert.match(draft.body.error.details.issues[0].message, /no placeholder \{\{nmae\}\}/)
    })

    test('a viewer’s draft and its values keep the server busy no longer than what can be saved', async (t) => {
      const app = await startApp(t, engine)
      await registerAs(app, 'admin')
      const viewer = await registerAs(app, 'viewer')
      const preview = async (html: string) => {
        const { status, text } = await as(app, viewer, 'POST /messaging/templates/own/preview', {
          draft: { subject: 'Hello', html },
          data: { list: Array.from({ length: 10_000 }, () => 1) },
        })
        assert.equal(status, 400, text)
        return text
      }
      assert.match(
        await preview(`{{#list}}${'{{#x}}{{/x}}'.repeat(100)}{{/list}}`),
        /more than 500000 pieces/,
      )
      assert.match(await preview('{{#x}}'.repeat(60) + '{{/x}}'.repeat(60)), /more than 50 others/)
      assert.match(
        await preview(`{{#list}}{{${'z.'.repeat(10_000)}z}}{{/list}}`),
        /longer than 200 characters/,
      )
      assert.match(await preview('{{#list}}<br><div>{{/list}}'), /too many elements of the HTML have no end/)
      assert.match(await preview('<div>'.repeat(10_001)), /more than 50000 characters/)
    })

    test('a file of the application is locked in its language; others and templates of one’s own are added', async (t) => {
      const mails = await startMailServer(t)
      const folder = await temporaryFolder(t)
      const file = (name: string, text: string) => writeFile(join(folder, name), text)
      await file('order.html', '---\nsubject: Bestellung {{number}}\n---\n<p>{{number}}</p>')
      await file('order.fr.html', '---\nsubject: Commande {{number}}\n---\n<p>{{number}}</p>')
      const app = await startApp(t, engine, {
        config: { messaging: { templates: folder } },
        environment: { SMTP_URL: mails.url, MAIL_FROM: 'shop@example.com' },
      })
      const admin = await registerAs(app, 'admin')
      const order = { subject: 'Order {{number}}', html: '<p>{{number}}</p>' }
      assert.equal((await change(app, admin, { 'messaging.language': 'de' })).status, 200)
      for (const [language, of] of [
        ['de', 'order.html'],
        ['fr', 'order.fr.html'],
      ] as const) {
        const refused = await change(app, admin, textOptions('order', language, order))
        assert.equal(refused.status, 400)
        const message = `${of} of the application has this text: change it there`
        assert.equal(refused.body.error.details.issues[0].message, message)
      }
      assert.equal((await change(app, admin, textOptions('order', 'en', order))).status, 200)
      const welcome = { subject: 'Willkommen', html: '<p>{{plan}}</p>', text: 'Der Plan: {{plan}}' }
      assert.equal((await change(app, admin, textOptions('welcome', 'de', welcome))).status, 200)

      const { templates, language } = (await as(app, admin, 'GET /messaging/templates')).body
      const of = (name: string) => {
        const { source, languages, values } = templates.find((one: { name: string }) => one.name === name)
        return [source, languages, values.map((one: { name: string }) => one.name)]
      }
      assert.equal(language, 'de')
      assert.deepEqual(of('order'), ['application', ['de', 'en', 'fr'], ['number']])
      assert.deepEqual(of('welcome'), ['console', ['de'], ['plan']])
      const sent = async (body: Record<string, unknown>) => {
        const to = `${String(body['language'])}@example.com`
        const answer = await as(app, admin, 'POST /messaging/email/template', { to, ...body })
        assert.equal(answer.status, 200, answer.text)
        return mails.mailTo(to)
      }
      const data = { number: '7', plan: 'gold' }
      const subjects = []
      for (const language of ['fr', 'en', 'de', 'it'])
        subjects.push((await sent({ template: 'order', language, data })).subject)
      assert.deepEqual(subjects, ['Commande 7', 'Order 7', 'Bestellung 7', 'Bestellung 7'])
      assert.match(
        (await sent({ template: 'welcome', language: 'es', data })).parsed.text!,
        /^Der Plan: gold/,
      )
    })

    test('buttons have the colour of the application, and text upon them can be read', async (t) => {
      const app = await startApp(t, engine)
      const admin = await registerAs(app, 'admin')
      assert.equal((await change(app, admin, { color: 'red' })).status, 400)
      assert.equal((await change(app, admin, { color: '#FFDD00' })).status, 200)
      const { html } = (await as(app, admin, 'POST /messaging/templates/reset-password/preview', {})).body
      assert.match(html, /background: #FFDD00;\s+color: #000000;/)
      const { colors } = (await app.request('GET', '/console/state')).body
      assert.deepEqual(Object.keys(colors), ['accent', 'fill', 'tint'])
    })
  })
})
