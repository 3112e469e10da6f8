import assert from 'node:assert/strict'
import { test } from 'node:test'

import { compileSchema } from './compile-schema.ts'

const takes = (format: string, value: unknown): boolean =>
  compileSchema({ properties: { v: { format } } }, 'store.collections.projects.schema')({ v: value })
    .length === 0

test('formats take what their standards have', () => {
  const cases: Record<string, { fit: string[]; unfit: string[] }> = {
    date: {
      fit: ['2024-02-29', '2000-02-29', '0000-01-01', '2026-12-31'],
      unfit: [
        '2023-02-29',
        '1900-02-29',
        '2026-00-01',
        '2026-13-01',
        '2026-04-31',
        '2026-01-00',
        '2026-1-1',
        '٢٠٢٦-01-01',
        '2026-01-01\n',
        '',
      ],
    },
    time: {
      fit: [
        '00:00:00Z',
        '23:59:59.123456+02:00',
        '12:00:00z',
        '23:59:60Z',
        '01:29:60+01:30',
        '15:59:60-08:00',
      ],
      unfit: [
        '24:00:00Z',
        '23:60:00Z',
        '12:00:60Z',
        '12:00:61Z',
        '12:00:00',
        '12:00Z',
        '12:00:00+24:00',
        '12:00:00+0100',
        '12:00:00.Z',
      ],
    },
    'date-time': {
      fit: ['2026-11-26T07:47:24Z', '1998-12-31T23:59:60Z', '2026-11-26t07:47:24.5-12:00'],
      unfit: [
        '2026-11-26',
        '2026-11-26 07:47:24Z',
        '2026-02-30T00:00:00Z',
        '2026-11-26T07:47:24',
        '2026-11-26T',
      ],
    },
    email: {
      fit: ['a.b+c@example.com'],
      unfit: ['a', 'a@b', ' a@example.com', 'a@example.com\n', 'a@@example.com'],
    },
    hostname: {
      fit: [
        'example.com',
        'localhost',
        'xn--bcher-kva.example',
        'XN--BCHER-KVA.example',
        '1.2',
        'a'.repeat(63),
      ],
      unfit: [
        '',
        '-a.com',
        'a-.com',
        'a..b',
        'a_b.com',
        'example.com.',
        'xn--X',
        'xn--hello-zed',
        'a.xn--',
        'a'.repeat(64),
        `${'a.'.repeat(127)}a`,
      ],
    },
    ipv4: { fit: ['127.0.0.1'], unfit: ['256.0.0.1', '127.1', '01.2.3.4', '1.2.3.4 '] },
    ipv6: {
      fit: ['::1', '2001:db8::1', '::ffff:1.2.3.4'],
      unfit: ['1.2.3.4', 'fe80::1%eth0', ':::', '12345::'],
    },
    uri: {
      fit: [
        'https://example.com/a?b=c#d',
        'urn:isbn:0451450523',
        'mailto:a@example.com',
        'http://a:b@[::1]:8080/',
        'ftp://x/%20',
        'http://999.999.999.999/',
        'http://a:99999/',
        'a:',
        'http://[v1.a:b]/',
        'file:///etc/hosts?a=/?#/?',
      ],
      unfit: [
        '/a',
        'example.com',
        '//a/b',
        'http://',
        'https:/a',
        'http://a b',
        'http://a/\n',
        'http://a/%zz',
        'http://a/[',
        'http://a/#b#c',
        'http://a:b/',
        'http://[::g]/',
        'http://[1.2.3.4]/',
        'http://a[::1]/',
        'http://a@b@c/',
        'http://ä.com',
        '1a:b',
      ],
    },
    uuid: {
      fit: ['0190f2b8-7C1e-7000-8000-000000000000'],
      unfit: [
        '0190f2b8-7c1e-7000-8000-00000000000',
        '0190f2b87c1e70008000000000000000',
        'urn:uuid:0190f2b8-7c1e-7000-8000-000000000000',
      ],
    },
  }
  for (const [format, { fit, unfit }] of Object.entries(cases)) {
    for (const text of fit) assert.ok(takes(format, text), `${format} ${text}`)
    for (const text of unfit) assert.ok(!takes(format, text), `${format} ${text}`)
    assert.ok(takes(format, 5), `${format} of a number`)
  }
})
