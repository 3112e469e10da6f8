import { Type } from '../../../../../base/schema.ts'
import { errors, invalid } from '../../../../../base/errors.ts'
import { json } from '../../../../../http/bodies.ts'
import { endpoint } from '../../../../../http/route.ts'
import { CollectionName } from '../../language/collection-name.ts'
import type { RuleOption } from '../../language/rules/rule.ts'
import { decideFor, type DecisionContext } from './account-decision.ts'
import type { StoredDecision } from './decide-stored.ts'
import type { Decision } from './decision.ts'

const CanBody = Type.Object(
  {
    user: Type.Optional(
      Type.Union([Type.String({ minLength: 1, maxLength: 320 }), Type.Null()], {
        description:
          'The address or the _id of an account, `key` for a service key of the scope store, null for a caller who is not signed in. Default: null.',
        examples: ['ann@example.com'],
      }),
    ),
    action: Type.Enum(['read', 'create', 'update', 'delete']),
    id: Type.Optional(
      Type.String({
        description: 'The _id of the document. Without it, read asks for the list.',
        maxLength: 200,
      }),
    ),
    document: Type.Optional(
      Type.Record(Type.String(), Type.Unknown(), {
        description: 'What would be sent: the fields of a new document, or the changes of an update.',
        examples: [{ title: 'Momo' }],
      }),
    ),
  },
  {
    title: 'CanQuestion',
    additionalProperties: false,
    examples: [{ user: null, action: 'read' }],
  },
)

const CanAnswer = Type.Object(
  {
    allowed: Type.Boolean(),
    because: Type.String({ description: 'The reason, in a sentence.', examples: ['The rule holds.'] }),
    rule: Type.Optional(
      Type.Unknown({
        description:
          'The alternative of the rule that allows it, or the rule that does not hold; absent if no rule was asked.',
        examples: ['owner'],
      }),
    ),
    step: Type.Optional(
      Type.String({
        description: 'The step that refuses it, as `sixwire can` names them.',
        examples: ['before'],
      }),
    ),
    status: Type.Optional(Type.Integer({ description: 'What the route answers.', examples: [403] })),
    code: Type.Optional(Type.String({ examples: ['FORBIDDEN'] })),
    issues: Type.Optional(
      Type.Array(Type.Object({ path: Type.String(), message: Type.String() }), {
        description: 'What is wrong with the fields that were sent.',
      }),
    ),
  },
  { title: 'CanAnswer' },
)

/** `/store/collections/:name/can` */
export const canEndpoint = (context: DecisionContext) =>
  endpoint(
    {
      summary: 'Ask whether an account may do something',
      description:
        'Decides by the definition in force, as the routes do, and writes nothing. It does not ask what only the write itself can tell: unique fields, relations, hooks, `If-Match`.',
      access: 'operator',
      changesNothing: true,
      params: Type.Object({ name: CollectionName }),
      body: json(CanBody),
      reply: { 200: CanAnswer },
      errors: [errors.not_found, errors.provider_not_configured],
    },
    async ({ params: { name }, body: { user = null, action, id, document } }) => {
      if (id === undefined && (action === 'update' || action === 'delete'))
        throw invalid({ path: '/body/id', message: `is needed to ${action} a document` })
      const body = document && { ...document }
      const decided = await decideFor(context, user, { action, collection: name, id, body })
      return answerOf(decided, { isList: action === 'read' && id === undefined })
    },
  )

function answerOf(stored: StoredDecision, { isList }: { isList: boolean }) {
  const { decision, rule } = stored
  if (decision.allowed)
    return {
      allowed: true,
      because: isList ? LISTED : reasonOf(rule),
      ...(rule !== undefined && { rule }),
    }
  const { step, status, code, issues } = decision
  const isByRule = ['audience', 'before'].includes(step) || (step === 'readable' && stored.isThere)
  return {
    allowed: false,
    because: refusalOf(decision, stored),
    ...(isByRule && rule !== undefined && { rule }),
    step,
    status,
    code,
    ...(issues && { issues: [...issues] }),
  }
}

const LISTED = 'The list has the documents for which the rule holds.'
const WORDS: Readonly<Record<string, string>> = {
  public: 'Everybody may.',
  user: 'Every account that is signed in may.',
  owner: 'The document belongs to the account.',
}

function reasonOf(rule: RuleOption | undefined): string {
  if (rule === undefined) return 'Administrators and service keys may do everything that the fields allow.'
  return typeof rule === 'string' ? (WORDS[rule] ?? 'The rule holds.') : 'The rule holds for the document.'
}

const REFUSED: Readonly<Record<string, string>> = {
  audience: 'The rule is for others.',
  fields: 'It has fields that this caller may not write.',
  schema: 'The document does not fit the fields of the collection.',
  before: 'The rule does not hold for the document as it is.',
  after: 'The rule does not hold for the document as it would be.',
}

function refusalOf(decision: Extract<Decision, { allowed: false }>, { isThere }: StoredDecision): string {
  const { step, status, message } = decision
  if (step === 'readable')
    return isThere
      ? 'The rule of reading does not hold for this document: to this caller it is not there.'
      : 'There is no document with this _id.'
  if (step === 'audience' && status === 401) return 'The rule is for accounts that are signed in.'
  return REFUSED[step] ?? message
}
