import { StartError } from '../base/start-error.ts'
import { ApiError } from '../base/errors.ts'
import { parseStrictJson } from '../base/json.ts'
import type { App } from '../app.ts'
import type { Decision } from '../wires/store/index.ts'
import { defineAction, UsageError } from './command.ts'
import { JSON_OPTION } from './option.ts'
import { print } from './print.ts'
import { withApp } from './with-app.ts'

const ACTIONS = ['read', 'create', 'update', 'delete'] as const
type Action = (typeof ACTIONS)[number]

const STRANGERS: readonly string[] = ['nobody', '-']

export const can = defineAction({
  summary: 'Say whether an account may do something to a document, or which step refuses it',
  words: ['EMAIL', 'ACTION', 'COLLECTION', '[ID]', '[JSON]'],
  options: {
    put: { description: 'take the JSON of an update for the body of a PUT, instead of a PATCH' },
    ...JSON_OPTION,
  },
  details: `ACTION is one of ${ACTIONS.join(', ')}. EMAIL is the address or the _id of an account; nobody, or -, is a
stranger, and key a service key of the scope store. JSON is what the request would send: the fields of a
document for create, which takes no ID; fields or operators such as {"$inc":{"votes":1}} for update. read without
an ID asks for the list.

    sixwire can ann@example.com update projects 01kb… '{"title":"Plan"}'

The document and the values of store.user are read from the database; nothing is written. It asks what the
server asks, in this order: signed-in, audience, readable, before (the rule on the document as it is), fields
(hidden, shown to others, read only), schema, after (the rule on the result), document (size and names).
It does not ask what only the write itself can tell: unique fields, relations, hooks, If-Match.
Exits with 0 for yes, 1 for no.`,
  async run({ words: [email, action, collection, ...others], options: { put: isPut, json } }) {
    const { id, body } = partsOf(action, others)
    return withApp(
      async (app) => {
        const decision = await decided(app, email, { action: action as Action, collection, id, body, isPut })
        print(json, decision, () => textOf(decision))
        return decision.allowed ? 0 : 1
      },
      { isStarted: false },
    )
  },
})

type Request = Parameters<ReturnType<typeof storeOf>['decideFor']>[1]

const storeOf = (app: App) => app.service('store')

/** The id and the JSON. @throws UsageError for words that an action does not take */
function partsOf(
  action: string,
  [first, second]: readonly (string | undefined)[],
): { id: string | undefined; body: Record<string, unknown> | undefined } {
  if (!ACTIONS.includes(action as Action))
    throw new UsageError(`"${action}" is not an action: use one of ${ACTIONS.join(', ')}`)
  if (action === 'create') {
    if (second !== undefined) throw new UsageError('create takes the JSON of a document, and no ID')
    return { id: undefined, body: bodyOf(first ?? '{}') }
  }
  if (first === undefined && action !== 'read') throw new UsageError(`${action} needs the ID of a document`)
  if (second !== undefined && action !== 'update') throw new UsageError(`${action} takes no JSON`)
  return { id: first, body: action === 'update' ? bodyOf(second ?? '{}') : undefined }
}

function bodyOf(text: string): Record<string, unknown> {
  try {
    const body = parseStrictJson(text, { at: '' })
    if (typeof body === 'object' && body !== null && !Array.isArray(body))
      return body as Record<string, unknown>
  } catch (error) {
    if (error instanceof ApiError) throw new UsageError(`JSON: ${error.message}`)
    throw error
  }
  throw new UsageError('JSON: must be an object')
}

async function decided(app: App, email: string, request: Request): Promise<Decision> {
  const asker = STRANGERS.includes(email) ? null : email
  try {
    return (await storeOf(app).decideFor(asker, request)).decision
  } catch (error) {
    if (error instanceof ApiError && error.code === 'NOT_FOUND') throw new StartError(error.message)
    throw error
  }
}

function textOf(decision: Decision): string {
  if (decision.allowed) return 'yes'
  const { step, status, code, message, issues = [] } = decision
  const lines = issues.slice(1).map(({ path, message: fault }) => `    ${path}: ${fault}`)
  return [`no: refused at the step "${step}": ${status} ${code}`, `    ${message}`, ...lines].join('\n')
}
