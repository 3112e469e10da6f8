import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { sql } from '../../../db/sql.ts'
import { PASSWORD, send } from '../../../testing/auth.ts'
import { eachEngine, testOnOne } from '../../../testing/engines.ts'
import { appWithMailbox, quietQueue } from '../../../testing/mailbox.ts'

const DAY_MS = 86_400_000
const firefox = (version: string, system = 'X11; Linux x86_64') =>
  `Mozilla/5.0 (${system}; rv:${version}) Gecko/20100101 Firefox/${version}`
const PHONE =
  'Mozilla/5.0 (iPhone; CPU iPhone OS 18_1 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.1 Mobile/15E148 Safari/604.1'

describe('a sign-in', () => {
  eachEngine((engine) => {
    const testOnce = testOnOne(engine)
    const started = appWithMailbox(engine)
    const app = () => started().app
    let people = 0

    /** An account that was registered with a browser, and the subjects of its mails, that of the registration aside. */
    async function someone(userAgent: string) {
      const email = `owner${++people}@example.com`
      const body = { email, password: PASSWORD }
      const headers = (agent: string) => ({ 'user-agent': agent })
      const reply = await send(app(), 'POST /auth/register', { body, headers: headers(userAgent) })
      assert.equal(reply.status, 201)
      const signIn = async (agent: string) => {
        const { status } = await send(app(), 'POST /auth/login', { body, headers: headers(agent) })
        assert.equal(status, 200)
      }
      const mails = async () => {
        await quietQueue(app())
        return started()
          .mailbox.mails.filter(({ to }) => to.includes(email))
          .slice(1)
      }
      // A mail that is under way when the clock is moved is sent again.
      await mails()
      return { id: reply.body.user._id, signIn, mails }
    }

    testOnce('on the first device, a known one, or one whose browser was updated tells nothing', async () => {
      const { signIn, mails } = await someone(firefox('133.0'))
      await signIn(firefox('133.0'))
      await signIn(firefox('134.0.1'))
      app().clock.advance(30 * DAY_MS)
      await signIn(firefox('135.0'))
      assert.deepEqual(await mails(), [])
    })

    test('on a new device tells the owner once, in words', async () => {
      const { signIn, mails } = await someone(firefox('133.0'))
      await signIn(PHONE)
      await signIn(PHONE)
      const [mail, ...more] = await mails()
      assert.deepEqual(more, [])
      assert.match(mail!.parsed.subject!, /^New device on your account/)
      assert.match(mail!.parsed.text!, /Device: Safari on iPhone/)
      assert.match(mail!.parsed.text!, /From: 127\.0\.0\.1/)
      assert.doesNotMatch(mail!.parsed.text!, /Mozilla/)
    })

    testOnce('on a known device tells the owner if it was not used for 180 days', async () => {
      const { signIn, mails } = await someone(firefox('133.0'))
      await signIn(PHONE)
      assert.equal((await mails()).length, 1)
      app().clock.advance(100 * DAY_MS)
      await signIn(firefox('133.0'))
      app().clock.advance(100 * DAY_MS)
      await signIn(firefox('133.0'))
      assert.equal((await mails()).length, 1)
      await signIn(PHONE)
      assert.equal((await mails()).length, 2)
    })

    testOnce('of an account that was asleep for longer tells its owner too', async () => {
      const { signIn, mails } = await someone(firefox('133.0'))
      app().clock.advance(181 * DAY_MS)
      await signIn(PHONE)
      assert.equal((await mails()).length, 1)
    })

    test('on a known device is recorded once a day', async () => {
      const { id, signIn } = await someone(firefox('133.0'))
      const recordedAt = () =>
        app().app.db.all(
          sql<{ last_used_at: number }>`select last_used_at from auth_known_devices where user_id = ${id}`,
        )
      const [first] = await recordedAt()
      app().clock.advance(DAY_MS - 60_000)
      await signIn(firefox('133.0'))
      assert.deepEqual(await recordedAt(), [first])
      app().clock.advance(60_000)
      await signIn(firefox('133.0'))
      const [second, ...more] = await recordedAt()
      assert.ok(second!.last_used_at >= first!.last_used_at + DAY_MS)
      assert.deepEqual(more, [])
    })
  })
})
