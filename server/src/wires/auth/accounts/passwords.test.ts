import assert from 'node:assert/strict'
import { test } from 'node:test'
import bcrypt from '@node-rs/bcrypt'
import fc from 'fast-check'
import { ApiError } from '../../../base/errors.ts'
import { createPasswords } from './passwords.ts'
import { anyText } from '../../../testing/any-text.ts'

const EMAIL = 'ada@example.com'
const passwords = createPasswords({ cost: 4, minLength: 8, names: ['Acme Shop', 'sixwire', 'ab'] })

function refusal(password: string, rules = passwords): string {
  try {
    rules.check(password, '/body/newPassword', EMAIL)
  } catch (error) {
    assert.ok(error instanceof ApiError, String(error))
    assert.equal(error.status, 400)
    const [issue] = error.details!['issues'] as { path: string; message: string }[]
    assert.equal(issue!.path, '/body/newPassword')
    return issue!.message
  }
  assert.fail(`${JSON.stringify(password)} was not refused`)
}

const refused: [name: string, password: string, message: RegExp][] = [
  ['an empty password', '', /at least 8 characters/],
  ['7 characters', 'kq7#vb2', /at least 8 characters/],
  ['7 characters of two code units each', '😀'.repeat(7), /at least 8 characters/],
  ['a letter and marks that become 7 characters', 'u\u0308'.repeat(7), /at least 8 characters/],
  ['73 bytes', 'x'.repeat(73), /at most 72 bytes: .+ Make it shorter/],
  ['25 characters of three bytes', '語'.repeat(25), /at most 72 bytes/],
  ['8 characters that become 144', '\ufdfa'.repeat(8), /at most 72 bytes/],
  ['a mebibyte of combining marks', 'a' + '\u0301\u0323'.repeat(1 << 19), /at most 72 bytes/],
  ['half a surrogate pair', 'kq7#vb2!\ud800', /surrogate/],
  ['U+0000', 'kq7#vb2!\0tail', /U\+0000/],
  ['the second commonest', 'password', /commonest passwords/],
  ['a common one', 'baseball1', /commonest passwords/],
  ['the ten thousandth', '24081990', /commonest passwords/],
  ['one after the twenty thousandth', 'alistair', /commonest passwords/],
  ['the last of the list', 'dimazarya', /commonest passwords/],
  ['a common one in capitals', 'QWERTYUIOP', /commonest passwords/],
  ['a common one in fullwidth letters', 'ｐａｓｓｗｏｒｄ', /commonest passwords/],
  ['the name of the service', 'AcmeShop', /name of the service/],
  ['that name with digits and signs', '!acme-shop2024', /name of the service/],
  ['the name of the platform', 'Sixwire1', /name of the service/],
  ['that name repeated', 'sixwire-Sixwire', /name of the service/],
  ['a name with digits in it', '4acme2024shop', /name of the service/],
]

for (const [name, password, message] of refused) {
  test(`a new password is refused: ${name}`, () => assert.match(refusal(password), message))
}

const accepted: [name: string, password: string, normal: string][] = [
  ['8 characters', 'kq7#vb2!', 'kq7#vb2!'],
  ['spaces', '        ', '        '],
  ['72 bytes', 'x'.repeat(72), 'x'.repeat(72)],
  ['24 characters of three bytes', '語'.repeat(24), '語'.repeat(24)],
  ['72 bytes that were 96', 'ｘ'.repeat(12) + 'y'.repeat(60), 'x'.repeat(12) + 'y'.repeat(60)],
  ['8 characters of two code units each', '😀'.repeat(8), '😀'.repeat(8)],
  ['a common one with more around it', 'my password is', 'my password is'],
  ['an end of common ones', '","123456","', '","123456","'],
  ['a start of a common one', 'superma\\', 'superma\\'],
  ['the name of the service and a word', 'acme shop keeper', 'acme shop keeper'],
  ['letters of a name of two', '12ab34#7', '12ab34#7'],
  ['72 letters of two code units each', '𝐱'.repeat(72), 'x'.repeat(72)],
  ['letters and marks', 'Mu\u0308nchen-8', 'M\u00fcnchen-8'],
  ['characters in four parts', '\u03b1\u0313\u0300\u0345'.repeat(24), '\u1f82'.repeat(24)],
]

for (const [name, password, normal] of accepted) {
  test(`a new password is taken in its NFKC form: ${name}`, () => {
    assert.equal(passwords.check(password, '/body/password', EMAIL), normal)
  })
}

test('the minimum length is the one configured', () => {
  assert.match(refusal('kq7#vb2!', createPasswords({ cost: 4, minLength: 9 })), /at least 9/)
  assert.equal(createPasswords({ cost: 4, minLength: 3 }).check('kq7', '/body/password', EMAIL), 'kq7')
})

test('property: what is taken is distinguished whole by bcrypt, and anything else is a validation error', async () => {
  await fc.assert(
    fc.asyncProperty(anyText({ maxLength: 90 }), async (password) => {
      let normal: string
      try {
        normal = passwords.check(password, '/body/password', EMAIL)
      } catch (error) {
        assert.ok(error instanceof ApiError && error.code === 'VALIDATION_ERROR', String(error))
        return
      }
      assert.equal(passwords.check(normal, '/body/password', EMAIL), normal)
      const hash = await passwords.hash(password)
      assert.ok(await passwords.verify(password, hash))
      assert.ok(await passwords.verify(normal, hash))
      assert.ok(!(await passwords.verify(password.slice(0, -1), hash)))
      assert.ok(!(await passwords.verify(`${password}\u0001`, hash)))
    }),
    { numRuns: 200 },
  )
})

test('a password is verified in whichever Unicode form it is typed', async () => {
  const hash = await passwords.hash(passwords.check('Mu\u0308nchen-8', '/body/password', EMAIL))
  assert.ok(await passwords.verify('M\u00fcnchen-8', hash))
  assert.ok(await passwords.verify('Ｍu\u0308nchen-8', hash))
  assert.ok(!(await passwords.verify('Munchen-8', hash)))
  assert.ok(await passwords.verify('M\u00fcnchen-8', await passwords.hash('Mu\u0308nchen-8')))
})

test('a password that nobody can have is a wrong one, not an error', async () => {
  const hash = await passwords.hash('x'.repeat(72))
  assert.ok(await passwords.verify('x'.repeat(72), hash))
  const marks = 'a' + '\u0301\u0323'.repeat(1 << 19)
  for (const password of ['x'.repeat(73), 'x'.repeat(72) + '\0', '\ud800', marks, '']) {
    assert.equal(await passwords.verify(password, hash), false)
  }
  assert.equal(await passwords.verify('\0', await bcrypt.hash('', 4)), false)
  // Older software hashed such passwords by their first 72 bytes.
  const cut = await bcrypt.hash('x'.repeat(80), 4)
  assert.equal(await passwords.verify('x'.repeat(80), cut), false)
})

test('without a hash every password is wrong', async () => {
  for (const password of ['kq7#vb2!', '', '\0', 'x'.repeat(100)]) {
    assert.equal(await passwords.verify(password, undefined), false)
    assert.equal(await passwords.verify(password, null), false)
  }
})

test('a password set before the minimum was raised still signs in', async () => {
  const hash = await createPasswords({ cost: 4, minLength: 3 }).hash('kq7')
  assert.ok(await passwords.verify('kq7', hash))
})

test('an unknown account and an impossible password cost the processor what a wrong password costs', async () => {
  // Processor time, not the clock's, and a factor of 4 to spare: a shortcut would be a factor of 100.
  const slow = createPasswords({ cost: 9, minLength: 8 })
  const hash = await slow.hash('kq7#vb2!')
  const cost = async (password: string, hash: string | undefined) => {
    const before = process.cpuUsage()
    for (let i = 0; i < 3; i++) await slow.verify(password, hash)
    const { user, system } = process.cpuUsage(before)
    return user + system
  }
  const wrong = await cost('wrong-password', hash)
  for (const [password, stored] of [
    ['wrong-password', undefined],
    ['x'.repeat(73), hash],
    ['x'.repeat(73), undefined],
    ['\ud800', hash],
    ['short', hash],
    ['', hash],
  ] as const) {
    assert.ok((await cost(password, stored)) > wrong / 4, JSON.stringify([password, stored]))
  }
})

test('a hash made at another cost is to be renewed', async () => {
  const hash = await passwords.hash('kq7#vb2!')
  assert.match(hash, /^\$2b\$04\$/)
  assert.equal(passwords.needsRehash('kq7#vb2!', hash), false)
  assert.equal(createPasswords({ cost: 5, minLength: 8 }).needsRehash('kq7#vb2!', hash), true)
  assert.ok(await createPasswords({ cost: 5, minLength: 8 }).verify('kq7#vb2!', hash))
  assert.equal(passwords.needsRehash('kq7#vb2!', await bcrypt.hash('kq7#vb2!', 5)), true)
})

test('a hash of a password longer than bcrypt reads is never made', async () => {
  await assert.rejects(passwords.hash('x'.repeat(73)), RangeError)
})

test('more sign-ins than can wait are turned away with 503; the others are answered, in order', async () => {
  const few = createPasswords({ cost: 4, minLength: 8, concurrency: 1, queue: 2 })
  const order: number[] = []
  const results = await Promise.allSettled(
    [1, 2, 3, 4, 5].map((id) => few.verify('kq7#vb2!', undefined).then(() => order.push(id))),
  )
  assert.deepEqual(
    results.map(({ status }) => status),
    ['fulfilled', 'fulfilled', 'fulfilled', 'rejected', 'rejected'],
  )
  assert.deepEqual(order, [1, 2, 3])
  const [, , , fourth] = results
  assert.ok(fourth?.status === 'rejected' && fourth.reason instanceof ApiError)
  assert.equal(fourth.reason.status, 503)
  assert.equal(fourth.reason.retryAfter, 5)
})

test('two servers in one process do not share their slots', async () => {
  const one = createPasswords({ cost: 4, minLength: 8, concurrency: 1, queue: 0 })
  const other = createPasswords({ cost: 4, minLength: 8, concurrency: 1, queue: 0 })
  assert.deepEqual(await Promise.all([one.verify('a', null), other.verify('b', null)]), [false, false])
})
