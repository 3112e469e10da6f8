// Hashes of other systems, with passwords that their own documentation and tests name.
import assert from 'node:assert/strict'
import { test } from 'node:test'

import bcrypt from '@node-rs/bcrypt'

import { createPasswords } from '../passwords.ts'
import { readHash, type FirebaseConfig, type HashRecord } from './hash-forms.ts'

const passwords = createPasswords({ cost: 4, minLength: 8 })

/** https://github.com/firebase/scrypt */
const FIREBASE: FirebaseConfig = {
  base64_signer_key:
    'jxspr8Ki0RYycVU8zykbdLGjFQ3McFUH0uiiTvC8pVMXAn210wjLNmdZJzxUECKbm0QsEmYUSDzZvpjeJ9WmXA==',
  base64_salt_separator: 'Bw==',
  rounds: 8,
  mem_cost: 14,
}

const keycloak = (
  algorithm: string,
  hashIterations: number,
  salt: string,
  value: string,
  additionalParameters = {},
) => ({
  secretData: JSON.stringify({ value, salt, additionalParameters: {} }),
  credentialData: JSON.stringify({ hashIterations, algorithm, additionalParameters }),
})

const vectors: [name: string, password: string, record: HashRecord, stored: RegExp][] = [
  [
    'bcrypt of crypt_blowfish, $2a$',
    'U*U',
    { passwordHash: '$2a$05$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW' },
    /^\$2y\$05\$/,
  ],
  [
    "bcrypt of PHP's manual, $2y$",
    'rasmuslerdorf',
    { passwordHash: '$2y$10$.vGA1O9wmRjrwAVXD98HNOgsNpDczlqm3Jq7KnEd1rVAGv3Fykk1a' },
    /^\$2y\$10\$/,
  ],
  [
    "argon2id of the reference's tests",
    'password',
    {
      passwordHash: '$argon2id$v=19$m=65536,t=2,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc',
    },
    /^\$argon2id\$v=19\$m=65536,t=2,p=1\$/,
  ],
  [
    "argon2i of the reference's tests, as Django writes it",
    'password',
    {
      passwordHash:
        'argon2$argon2i$v=19$m=65536,t=2,p=1$c29tZXNhbHQ$wWKIMhR9lyDFvRz9YTZweHKfbftvj+qf+YFY4NeBbtA',
    },
    /^\$argon2i\$v=19\$/,
  ],
  [
    'scrypt of passlib',
    'password',
    {
      passwordHash:
        '$scrypt$ln=16,r=8,p=1$aM15713r3Xsvxbi31lqr1Q$nFNh2CVHVjNldFVKDHDlm4CbdRSCdEBsjjJxD+iCs5E',
    },
    /^\$scrypt\$ln=16,r=8,p=1\$/,
  ],
  [
    'scrypt of Django',
    'lètmein',
    {
      passwordHash:
        'scrypt$16384$seasalt$8$1$Qj3+9PPyRjSJIebHnG81TMjsqtaIGxNQG/aEB/NYafTJ7tibgfYz71m0ldQESkXFRkdVCBhhY8mx7rQwite/Pw==',
    },
    /^\$scrypt\$ln=14,r=8,p=1\$/,
  ],
  [
    'scrypt of Firebase',
    'user1password',
    {
      passwordHash:
        'lSrfV15cpx95/sZS2W9c9Kp6i/LVgQNDNC/qzrCnh1SAyZvqmZqAjTdn3aoItz+VHjoZilo78198JAdRuid5lQ==',
      salt: '42xEC+ixf3L2lw==',
    },
    /^\$firescrypt\$ln=14,r=8,p=1\$/,
  ],
  [
    'scrypt of Firebase, as firebase auth:export writes base64',
    'user1password',
    {
      passwordHash:
        'lSrfV15cpx95_sZS2W9c9Kp6i_LVgQNDNC_qzrCnh1SAyZvqmZqAjTdn3aoItz-VHjoZilo78198JAdRuid5lQ==',
      salt: '42xEC-ixf3L2lw==',
    },
    /^\$firescrypt\$/,
  ],
  [
    'scrypt of Firebase as Ory Kratos writes it',
    '8x4WjoDbSxJZdR',
    {
      passwordHash:
        '$firescrypt$ln=14,r=8,p=1$sPtDhWcd1MfdAw==$xbSou7FOl6mChCyzpCPIQ7tku7nsQMTFtyOZSXXd7tjBa4NtimOx7v42Gv2SfzPQu1oxM2/k4SsbOu73wlKe1A==$Bw==$YE0dO4bwD4JnJafh6lZZfkp1MtKzuKAXQcDCJNJNyeCHairWHKENOkbh3dzwaCdizzOspwr/FITUVlnOAwPKyw==',
    },
    /^\$firescrypt\$/,
  ],
  [
    'PBKDF2 of Django',
    'lètmein',
    { passwordHash: 'pbkdf2_sha256$20000$seasalt$oBSd886ysm3AqYun62DOdin8YcfbU1z9cksZSuLP9r0=' },
    /^\$pbkdf2-sha256\$i=20000\$/,
  ],
  [
    'PBKDF2 of Keycloak, SHA-256',
    'password',
    {
      passwordHash: keycloak(
        'pbkdf2-sha256',
        27_500,
        'P5rtFkGtPfoaryJ6PizUJw==',
        'JsfNbCOIdZUbyBJ+BT+VoGI91Ec2rWLOvkLPDaX8e9k=',
      ),
    },
    /^\$pbkdf2-sha256\$i=27500\$/,
  ],
  [
    'PBKDF2 of Keycloak, SHA-512',
    'password',
    {
      passwordHash: keycloak(
        'pbkdf2-sha512',
        210_000,
        'JaBKqx57IIB/dLDTpWBu+Q==',
        '5IL4kCCyOerhaEHfdK1BbjYxO6HitYLRtJOxwD8MUZH5wCgc1edmf35rWiP9sRxEwnQDstxch8twKh08Usi1fQ==',
      ),
    },
    /^\$pbkdf2-sha512\$i=210000\$/,
  ],
  [
    'argon2 of Keycloak',
    'password',
    {
      passwordHash: keycloak(
        'argon2',
        5,
        'Cf9AYCE5pAbb4CKEF0GUTA==',
        'BruFLfFkjH/8erZ26NnrbkOrWiZuQyDRCHD9o0R6Scg=',
        {
          hashLength: ['32'],
          memory: ['7168'],
          type: ['id'],
          version: ['1.3'],
          parallelism: ['1'],
        },
      ),
    },
    /^\$argon2id\$v=19\$m=7168,t=5,p=1\$/,
  ],
  [
    'ASP.NET Identity, version 2',
    'my password',
    { passwordHash: 'AAABAgMEBQYHCAkKCwwNDg+ukCEMDf0yyQ29NYubggHIVY0sdEUfdyeM+E1LtH1uJg==' },
    /^\$pbkdf2-sha1\$i=1000\$/,
  ],
  [
    'ASP.NET Identity, version 3',
    'my password',
    { passwordHash: 'AQAAAAEAACcQAAAAEAABAgMEBQYHCAkKCwwNDg+yWU7rLgUwPZb1Itsmra7cbxw2EFpwpVFIEtP+JIuUEw==' },
    /^\$pbkdf2-sha256\$i=10000\$/,
  ],
  [
    'ASP.NET Identity, version 3 with SHA-512',
    'my password',
    { passwordHash: 'AQAAAAIAAAAyAAAAEOMwvh3+FZxqkdMBz2ekgGhwQ4B6pZWND6zgESBuWiHw' },
    /^\$pbkdf2-sha512\$i=50\$/,
  ],
]

for (const [name, password, record, stored] of vectors)
  test(`a hash is read and verified: ${name}`, async () => {
    const hash = readHash(record, FIREBASE)
    assert.ok('text' in hash, JSON.stringify(hash))
    assert.match(hash.text, stored)
    assert.deepEqual(readHash({ passwordHash: hash.text }), hash)
    assert.equal(await passwords.verify(password, hash.text), true)
    assert.equal(await passwords.verify(`${password}z`, hash.text), false)
    assert.equal(await passwords.verify('', hash.text), false)
    assert.equal(passwords.needsRehash(password, hash.text), true)
  })

const refused: [name: string, passwordHash: HashRecord['passwordHash'], fault: RegExp][] = [
  [
    'no hash',
    '',
    /^is of no known form: send one of bcrypt .*argon2id.*scrypt.*Firebase.*PBKDF2.*Django.*Keycloak.*ASP\.NET/,
  ],
  ['MD5', '5f4dcc3b5aa765d61d8327deb882cf99', /no known form/],
  ['MD5 of crypt', '$1$rasmusle$rISCgZzpwk3UhDidwXvin0', /no known form/],
  [
    'SHA-512 of crypt',
    '$6$saltstring$svn8UoSVapNtMuq1ukKS4tPQd8iKwSMHWjlO/O817G3uBnIFNjnQJuesI68OTLiBFdcbYEdFCoEOfaS35inz1',
    /no known form/,
  ],
  ['a password', 'correct horse battery', /no known form/],
  ['bcrypt that is cut off', '$2b$10$.vGA1O9wmRjrwAVXD98HNOgsNpDczlqm3Jq7KnEd1', /no known form/],
  [
    'bcrypt at cost 20',
    '$2b$20$.vGA1O9wmRjrwAVXD98HNOgsNpDczlqm3Jq7KnEd1rVAGv3Fykk1a',
    /cost 20 must be from 4 to 15/,
  ],
  [
    'argon2d',
    '$argon2d$v=19$m=65536,t=2,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc',
    /no known form/,
  ],
  [
    'argon2 1.0',
    '$argon2i$m=65536,t=2,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc',
    /argon2i: it must have the parameters v, m, t, p/,
  ],
  [
    'argon2 of 4 GB',
    '$argon2id$v=19$m=4194304,t=2,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc',
    /argon2id: m=4194304 must be a whole number from 8 to 131072/,
  ],
  [
    'argon2 with many passes',
    '$argon2id$v=19$m=131072,t=32,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc',
    /m·t is 4194304, and may be at most 786432/,
  ],
  [
    'argon2 with a short salt',
    '$argon2id$v=19$m=65536,t=2,p=1$c29t$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc',
    /salt must have at least 8 bytes/,
  ],
  ['a hash that is cut off', '$argon2id$v=19$m=65536,t=2,p=1$c29tZXNhbHQ$CTFhFdXP', /from 16 to 128 bytes/],
  [
    'scrypt with N=2^24',
    '$scrypt$ln=24,r=8,p=1$aM15713r3Xsvxbi31lqr1Q$nFNh2CVHVjNldFVKDHDlm4CbdRSCdEBsjjJxD+iCs5E',
    /scrypt: ln=24 must be a whole number from 1 to 20/,
  ],
  [
    'scrypt of 1 GB',
    '$scrypt$ln=20,r=8,p=1$aM15713r3Xsvxbi31lqr1Q$nFNh2CVHVjNldFVKDHDlm4CbdRSCdEBsjjJxD+iCs5E',
    /N·r·p is 8388608, and may be at most 1048576/,
  ],
  [
    'PBKDF2 with a billion iterations',
    'pbkdf2_sha256$1000000000$seasalt$oBSd886ysm3AqYun62DOdin8YcfbU1z9cksZSuLP9r0=',
    /pbkdf2-sha256: i=1000000000 must be a whole number from 1 to 5000000/,
  ],
  [
    'PBKDF2 without iterations',
    'pbkdf2_sha256$many$seasalt$oBSd886ysm3AqYun62DOdin8YcfbU1z9cksZSuLP9r0=',
    /i=NaN/,
  ],
  [
    'PBKDF2 with a digest of its own',
    '$pbkdf2-md5$i=1000$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc',
    /no known form/,
  ],
  ['a credential of Keycloak of another kind', keycloak('bcrypt', 10, 'c2FsdA==', 'eA=='), /no known form/],
  ['a credential of Keycloak that is no JSON', { secretData: '{', credentialData: 'x' }, /no known form/],
]

for (const [name, passwordHash, fault] of refused)
  test(`a hash is refused: ${name}`, () => {
    const hash = readHash({ passwordHash })
    assert.ok('fault' in hash, JSON.stringify(hash))
    assert.match(hash.fault, fault)
  })

test("a hash of Firebase needs the project's parameters", () => {
  const record = { passwordHash: 'lSrfV15cpx95/sZS2W9c9A==', salt: '42xEC+ixf3L2lw==' }
  assert.match((readHash(record) as { fault: string }).fault, /a line with hash_config before it/)
  assert.match(
    (readHash(record, FIREBASE) as { fault: string }).fault,
    /signer key must be as long as the hash/,
  )
})

test('what is imported is compared as it is typed, and what is ours in NFKC', async () => {
  const typed = 'ﬁrst café №1'
  const imported = readHash({ passwordHash: await bcrypt.hash(typed, 4) })
  assert.ok('text' in imported)
  assert.equal(await passwords.verify(typed, imported.text), true)
  assert.equal(await passwords.verify(typed.normalize('NFKC'), imported.text), false)
  assert.equal(await passwords.verify(typed.normalize('NFKC'), await passwords.hash(typed)), true)
})

test('a password that bcrypt cannot hold signs in with its imported hash, which stays', async () => {
  const long = 'correct horse battery '.repeat(5)
  const cut = readHash({ passwordHash: await bcrypt.hash(long, 4) })
  assert.ok('text' in cut)
  assert.equal(await passwords.verify(long, cut.text), true)
  assert.equal(passwords.needsRehash(long, cut.text), false)
  assert.equal(await passwords.verify('\ud800', cut.text), false)
})

test('an account without a password costs what the hash costs that it is compared with, and is never right', async () => {
  const vector = vectors.find(([name]) => name === 'PBKDF2 of Keycloak, SHA-512')!
  const { text } = readHash(vector[2]) as { text: string }
  const cost = async (hash: string | null, decoy?: string) => {
    const before = process.cpuUsage()
    assert.equal(await passwords.verify('password', hash, decoy), hash !== null)
    const { user, system } = process.cpuUsage(before)
    return user + system
  }
  const real = await cost(text)
  assert.ok((await cost(null, text)) > real / 4)
  // The dummy of cost 4 takes a hundredth.
  assert.ok((await cost(null)) < real / 4)
})
