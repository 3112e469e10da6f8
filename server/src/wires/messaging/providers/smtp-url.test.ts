import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { readServer } from './smtp-url.ts'

describe('TLS', () => {
  for (const [url, isRequired] of [
    ['smtp://user:pass@mail.example', true],
    ['smtp://user:pass@192.0.2.1:25', true],
    ['smtp://user:pass@localhost?requireTLS=true', true],
    ['smtp://mail.example', false],
    ['smtp+starttls://mail.example', true],
    ['smtp://user:pass@localhost:2525', false],
    ['smtp://user:pass@127.0.0.1:2525', false],
    ['smtp://user:pass@[::1]:2525', false],
  ] as const)
    test(`${isRequired ? 'must' : 'need not'} be with ${url}`, () => {
      assert.equal(readServer(url).requireTLS, isRequired)
    })
})

describe('an SMTP_URL that cannot work', () => {
  for (const [url, why] of [
    ['', /write smtp:\/\//],
    ['mail.example', /write smtp:\/\//],
    ['http://user:hunter2@mail.example', /write smtp:\/\//],
    ['smtp://', /write smtp:\/\//],
    ['smtp://user:hunter2/x@mail.example', /write smtp:\/\/|%2F/],
    ['smtp://user:hunter2@mail.example/path', /%2F/],
    ['smtp://user:hunter2#x@mail.example', /write smtp:\/\/|%23/],
    ['smtp://user:hunter2%@mail.example', /%25/],
    ['smtp://user:hunter2@mail.example?requireTLS=false', /a password is sent to another machine over TLS/],
    ['smtp://user:hunter2@mail.example?requireTLS=yes', /requireTLS is true or false/],
    ['smtp://user:hunter2@mail.example?maxConnections=0', /maxConnections/],
    ['smtp://user:hunter2@mail.example?maxMessages=none', /maxMessages/],
    ['smtp://user:hunter2@mail.example?disableFileAccess=false', /what follows the \?/],
    ['smtp://user:12?hunter2@mail.example:587', /%3F/],
    ['smtp://user:hunter2@mail.example?pool=false', /what follows the \?/],
  ] as const)
    test(`${JSON.stringify(url)} says why, and not the password`, () => {
      assert.throws(
        () => readServer(url),
        (error: Error) => {
          assert.equal(error.name, 'StartError')
          assert.match(error.message, /^SMTP_URL, or the url of smtp\(\): /)
          assert.match(error.message, why)
          assert.doesNotMatch(error.message, /hunter2/)
          return true
        },
      )
    })
})
