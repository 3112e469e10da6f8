// API rules: https://pocketbase.io/docs/api-rules-and-filters/
import type { CollectionDeclaration, RuleFilter, RuleOption } from '../../wires/store/index.ts'
import { isMultiple, RULES, type PocketbaseCollection, type PocketbaseField } from './pocketbase-data.ts'

type Action = 'read' | 'create' | 'update' | 'delete'
type Access = Pick<CollectionDeclaration, Action>

/**
 * What of our rules the API rules of a collection are. Only what means the same is translated; any other rule leaves the action to
 * administrators, and is a note.
 */
export function accessOf(collection: PocketbaseCollection): { access: Access; notes: string[] } {
  const { listRule, viewRule, createRule } = collection
  const notes: string[] = []
  const access: Record<Action, RuleOption> = {
    read: 'admin',
    create: 'admin',
    update: 'admin',
    delete: 'admin',
  }
  for (const name of RULES) {
    const rule = collection[name]
    const action = ACTIONS[name]
    if (rule === null || (action === 'read' && listRule !== viewRule)) continue
    const translated = translate(rule, action, collection)
    if (translated === undefined) notes.push(`${name} is not translated, so administrators only: ${rule}`)
    else access[action] = translated
  }
  if (listRule !== viewRule)
    notes.push(
      `listRule and viewRule differ, and there is one rule for both here, so administrators only: ${shown(listRule)} and ${shown(viewRule)}`,
    )
  if (collection.authRule)
    notes.push(`authRule is not translated, so all of them may sign in: ${collection.authRule}`)
  if (collection.authRule === null) notes.push('authRule lets nobody sign in, so its accounts are disabled')
  if (createRule === '')
    notes.push(
      collection.type === 'auth'
        ? 'createRule was open: everybody may register, and a new account may create its own document here, with its _id'
        : 'createRule was open to everybody: here nobody creates documents without signing in',
    )
  return {
    access,
    notes: [...new Set(notes.map((note) => note.replace(/^(?:list|view)Rule is/, 'the rule of reading is')))],
  }
}

const ACTIONS: Readonly<Record<(typeof RULES)[number], Action>> = {
  listRule: 'read',
  viewRule: 'read',
  createRule: 'create',
  updateRule: 'update',
  deleteRule: 'delete',
}

const shown = (rule: string | null): string => (rule === null ? 'superusers only' : rule || 'everybody')

/** The field that a rule of changes compares with the caller alone: who it names is the owner. */
export function ownerFieldOf({ access }: { access: Access }): string | undefined {
  for (const rule of [access.update, access.delete]) {
    const [name, ...others] = typeof rule === 'object' ? Object.entries(rule) : []
    if (name && others.length === 0 && name[1] === CALLER && name[0] !== '_id') return name[0]
  }
  return undefined
}

const CALLER = '$$user._id'

function translate(rule: string, action: Action, collection: PocketbaseCollection): RuleOption | undefined {
  if (rule === '') {
    if (action !== 'create') return 'public'
    return collection.type === 'auth' ? { _id: CALLER } : 'user'
  }
  // Parentheses, comments and texts that have operators in them are not read.
  if (/[()/]|"[^"]*[|&][^"]*"|'[^']*[|&][^']*'/.test(rule)) return undefined
  const alternatives = rule.split('||').map((one) => conjunction(one, action, collection))
  if (alternatives.includes(undefined)) return undefined
  return alternatives.length === 1 ? alternatives[0] : (alternatives as RuleOption)
}

/** Terms that hold together: a word, or a filter. */
function conjunction(
  text: string,
  action: Action,
  collection: PocketbaseCollection,
): 'user' | RuleFilter | undefined {
  const terms = text.split('&&').map((one) => term(one.trim(), action, collection))
  if (terms.includes(undefined)) return undefined
  const filters = terms.filter((one) => typeof one === 'object')
  if (filters.length === 0) return 'user'
  const entries = filters.flatMap((one) => Object.entries(one))
  // A filter with the caller's id holds for signed-in callers only; another one does not.
  const isForUsers = entries.some(([, value]) => value === CALLER)
  const isOnce = new Set(entries.map(([name]) => name)).size === entries.length
  return isOnce && (isForUsers || !terms.includes('user')) ? Object.fromEntries(entries) : undefined
}

const SIGNED_IN = /^@request\.auth\.id\s*!=\s*(?:""|'')$/
const COMPARISON = /^([\w.@]+)\s*(\??=)\s*([\w.@]+|-\d+|"[^"]+"|'[^']+')$/
const ID = '@request.auth.id'

function term(
  text: string,
  action: Action,
  collection: PocketbaseCollection,
): 'user' | RuleFilter | undefined {
  if (SIGNED_IN.test(text)) return 'user'
  const [, left, operator, right] = COMPARISON.exec(text) ?? []
  if (left === undefined || operator === undefined || right === undefined) return undefined
  const [path, value] = left === ID ? [right, left] : [left, right]
  const name = path
    .replace(/\.id$/, '')
    .replace(action === 'create' ? /^@request\.(?:body|data)\./ : /^$/, '')
  if (value === ID) {
    if (name === 'id') return { _id: CALLER }
    const field = collection.fields.find((one) => one.name === name)
    const isFit = field?.type === 'relation' && (operator === '?=' || !isMultiple(field))
    return isFit ? { [name]: CALLER } : undefined
  }
  const field = collection.fields.find((one) => one.name === path)
  const literal = field && literalOf(field, value)
  return literal === undefined || operator !== '=' ? undefined : { [path]: literal }
}

/** A value that a field of its type can have, and that is compared the same here. */
function literalOf(field: PocketbaseField, text: string): string | number | boolean | undefined {
  if (field.type === 'bool') return text === 'true' ? true : text === 'false' ? false : undefined
  if (field.type === 'number') return /^-?\d{1,15}$/.test(text) ? Number(text) : undefined
  const isText = field.type === 'text' || (field.type === 'select' && !isMultiple(field))
  return isText && /^["'][^\\]+["']$/.test(text) ? text.slice(1, -1) : undefined
}
