// What `decide` says without a server is what the server answers, whoever does what in whatever collection.
import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { isDeepStrictEqual } from 'node:util'

import fc from 'fast-check'

import { startApp, type TestApp } from '../../../../../testing/app.ts'
import { endOfSuite, someEngine } from '../../../../../testing/engines.ts'
import { isLongRun } from '../../../../../testing/long-run.ts'
import type { CollectionDeclaration, UpdateRuleOption } from '../../definition/collection-option.ts'
import type { Fields } from '../../language/document-json.ts'
import { mergePatch } from '../../writes/merge-patch.ts'
import type { RuleOption } from '../../language/rules/rule.ts'
import { decide, type DecisionCall, type DecisionUser } from './dry-run.ts'

const COLLECTIONS = 40
const RUNS = isLongRun ? 2_500 : 100

const alternative = fc.constantFrom<RuleOption>(
  'public',
  'user',
  'owner',
  'admin',
  { members: '$$user._id' },
  { members: { $ne: '$$user._id' } },
  { team: { $in: '$$user.teams' } },
  { $nor: [{ team: { $in: '$$user.teams' } }] },
  { contact: '$$user.email' },
  { state: 'open' },
)
const rule: fc.Arbitrary<RuleOption> = fc
  .array(alternative, { minLength: 1, maxLength: 3 })
  .map((list) => (list.length === 1 ? list[0]! : (list as RuleOption)))
const createRule = rule.filter((one) => ![one].flat().includes('public'))
const updateRule: fc.Arbitrary<UpdateRuleOption> = fc.oneof(rule, fc.record({ before: rule, after: rule }))
const maybe = <T>(one: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> => fc.option(one, { nil: undefined })

const declaration = fc
  .record({
    read: maybe(rule),
    create: maybe(createRule),
    update: maybe(updateRule),
    delete: maybe(rule),
    hidden: maybe(fc.constant(['cost'])),
    showTo: maybe(rule.map((one) => ({ contact: one }))),
    readOnly: maybe(fc.constant(['state'])),
    schema: maybe(
      fc.constant({ type: 'object', properties: { team: { enum: ['red', 'blue'] } }, required: ['team'] }),
    ),
  })
  .map(
    (one) =>
      Object.fromEntries(
        Object.entries(one).filter(([, value]) => value !== undefined),
      ) as CollectionDeclaration,
  )

const PEOPLE = ['nobody', 'ann', 'bob', 'eve', 'admin'] as const
const fields = fc.record(
  {
    members: fc.subarray(['ann', 'bob']),
    team: fc.constantFrom('red', 'blue', 'green'),
    contact: fc.constantFrom('bob@example.com', 'eve@example.com'),
    state: fc.constantFrom('open', 'closed'),
    cost: fc.constant(7),
    other: fc.constantFrom(1, { $bad: 1 }),
  },
  { requiredKeys: ['members'] },
)
const scenario = fc.record({
  collection: fc.nat({ max: COLLECTIONS - 1 }),
  who: fc.constantFrom(...PEOPLE),
  action: fc.constantFrom('read', 'create', 'update', 'update', 'delete'),
  owner: fc.constantFrom('ann', 'bob'),
  stored: fields.map(({ other: _, ...one }) => one),
  // A merge patch: null removes.
  sent: fc.oneof(
    fields,
    fc.dictionary(fc.constantFrom('team', 'contact', 'state', 'cost'), fc.constant(null)),
  ),
})

someEngine((engine) => {
  const ending = endOfSuite()
  const seed = Date.now() % 2 ** 31
  const collections = fc.sample(declaration, { seed, numRuns: COLLECTIONS })
  const users = new Map<string, { token: string; user: DecisionUser }>()
  let app: TestApp
  before(async () => {
    app = await startApp(ending, engine, {
      config: {
        store: {
          user: { teams: { collection: 'memberships', filter: { user: '$$user._id' }, value: 'team' } },
          collections: {
            memberships: 'admin',
            ...Object.fromEntries(collections.map((one, i) => [`c${i}`, one])),
          },
        },
      },
      environment: { SIXWIRE_POLICY: 'guarded' },
    })
    const accounts = app.app.service('auth').users
    for (const who of ['admin', 'ann', 'bob', 'eve']) {
      const email = `${who}@example.com`
      const { _id, token } = await app.register(email)
      if (who === 'bob') await accounts.verify(email)
      const role = who === 'admin' ? 'admin' : 'user'
      const teams = who === 'bob' ? ['red'] : []
      users.set(who, { token, user: { _id, role, email, emailVerified: who === 'bob', teams } })
    }
    const { documents } = app.app.service('store')
    await documents.create('memberships', { user: users.get('bob')!.user._id, team: 'red' })
  })

  /** With ids in place of names. */
  const withIds = ({ members, ...others }: Fields): Fields => ({
    ...others,
    ...(members !== undefined && {
      members: (members as string[]).map((name) => users.get(name)!.user._id),
    }),
  })

  /** What of a merge patch changes something. */
  const differences = (document: Fields, sent: Fields): Fields =>
    Object.fromEntries(
      Object.entries(sent).filter(([key, value]) => !isDeepStrictEqual(document[key] ?? null, value)),
    )

  test('decide agrees with the routes', async () => {
    const seen = new Set<string>()
    await fc.assert(
      fc.asyncProperty(scenario, async ({ collection, who, action, owner, ...others }) => {
        const [stored, sent] = [withIds(others.stored), withIds(others.sent)]
        const name = `c${collection}`
        const { token, user } = users.get(who) ?? {}
        const ownerId = users.get(owner)!.user._id
        // Documents from before a schema do not fit it.
        const { documents } = app.app.service('store')
        const document =
          action === 'create'
            ? undefined
            : await documents.create(
                name,
                { team: 'red', ...stored, ...(stored['team'] === 'green' && { team: 'blue' }) },
                { owner: ownerId },
              )
        // A hidden field must not be sent at all, also not as it is.
        const body = document ? differences(document, sent) : sent
        const path = `/store/${name}${document ? `/${document._id}` : ''}`
        const method = { read: 'GET', create: 'POST', update: 'PATCH', delete: 'DELETE' }[action]
        const hasBody = action === 'create' || action === 'update'
        const answered = await app.request(method, path, { token, ...(hasBody && { body }) })

        const before = document as Fields
        const call = {
          user,
          policy: 'guarded',
          action,
          before,
          owner: ownerId,
          after: document ? mergePatch(document, body) : body,
        } as DecisionCall
        const decision = decide(collections[collection]!, call)
        if (decision.allowed) {
          assert.ok(answered.status < 300, answered.text)
          seen.add(`${action} yes`)
          return
        }
        const { step, status, code, message, issues } = decision
        const error = answered.body?.error
        assert.deepEqual(
          [answered.status, error?.code, error?.details?.issues],
          [status, code, issues],
          answered.text,
        )
        if (status !== 404) assert.equal(error.message, message)
        seen.add(`${action} ${step}`)
      }),
      { seed, numRuns: RUNS },
    )
    assert.ok(seen.size >= 10, `seed ${seed}: few kinds of outcomes: ${[...seen].join(', ')}`)
  })
})
