import { isFieldName, type DefinitionValue } from './field-types.ts'

/** The rights of a definition. */
export const RIGHTS = ['read', 'create', 'update', 'delete'] as const
export type Right = (typeof RIGHTS)[number]

export type RuleChoice = 'unset' | 'public' | 'user' | 'owner' | 'admin' | 'rule'

/** The choices of a right in plain sentences, in their order. Nobody creates without signing in, and who creates owns. */
export const choicesOf = (right: Right): readonly (readonly [RuleChoice, string])[] => [
  ...(right === 'create' ? [] : [['public', 'Everyone, also without an account'] as const]),
  ['user', 'Signed-in accounts'],
  ...(right === 'create' ? [] : [['owner', 'The owner: the account that created it'] as const]),
  ['admin', 'Administrators only'],
  ['rule', 'A rule…'],
  ['unset', 'As the policy of the server has it'],
]

const WORDS: readonly unknown[] = ['public', 'user', 'owner', 'admin']

/** The choice that a rule is. */
export function choiceOf(right: Right, rule: unknown): RuleChoice {
  if (rule === undefined) return 'unset'
  const isWord = WORDS.includes(rule) && choicesOf(right).some(([choice]) => choice === rule)
  return isWord ? (rule as RuleChoice) : 'rule'
}

/** The definition with a rule of a right; undefined leaves it to the policy. */
export function withRule(definition: DefinitionValue, right: Right, rule: unknown): DefinitionValue {
  if (rule !== undefined) return { ...definition, [right]: rule }
  const { [right]: _, ...rest } = definition
  return rest
}

export type Suggestion = {
  /** What is put in place of the word that is typed. */
  readonly insert: string
  readonly about: string
}

const VALUES: readonly Suggestion[] = [
  { insert: '"$$user._id"', about: 'the _id of the account' },
  { insert: '"$$user.email"', about: 'its verified address' },
  { insert: '"$$user.role"', about: 'user or admin' },
]
const OPERATORS: readonly Suggestion[] = [
  { insert: '"$eq"', about: 'is' },
  { insert: '"$ne"', about: 'is not' },
  { insert: '"$in"', about: 'is one of' },
  { insert: '"$nin"', about: 'is none of' },
  { insert: '"$gt"', about: 'greater than' },
  { insert: '"$gte"', about: 'at least' },
  { insert: '"$lt"', about: 'less than' },
  { insert: '"$lte"', about: 'at most' },
  { insert: '"$exists"', about: 'is there' },
  { insert: '"$regex"', about: 'matches a pattern' },
  { insert: '"$all"', about: 'has all of' },
  { insert: '"$size"', about: 'has so many' },
  { insert: '"$elemMatch"', about: 'one element meets' },
  { insert: '"$bitsAllSet"', about: 'has all bits of' },
  { insert: '"$bitsAnySet"', about: 'has any bit of' },
  { insert: '"$bitsAllClear"', about: 'has no bit of' },
  { insert: '"$bitsAnyClear"', about: 'lacks any bit of' },
  { insert: '"$expr"', about: 'fields compare' },
  { insert: '"$not"', about: 'does not meet' },
  { insert: '"$and"', about: 'all of these' },
  { insert: '"$or"', about: 'any of these' },
  { insert: '"$nor"', about: 'none of these' },
]
const AUDIENCES: readonly Suggestion[] = [
  { insert: '"public"', about: 'everyone' },
  { insert: '"user"', about: 'signed-in accounts' },
  { insert: '"owner"', about: 'the account that created it' },
  { insert: '"admin"', about: 'administrators' },
]

const SHOWN = 8
/** The word before the caret: with its quote, and a `$$user.` as one. */
const WORD = /"?[\w$.-]*$/

/**
 * What the word before the caret may become: a field, a value of the caller, an operator, or an audience.
 *
 * @param fields the names of the collection's fields
 * @returns the suggestions, and where the word begins; none where no word is typed
 */
export function suggestionsAt(
  text: string,
  caret: number,
  fields: readonly string[],
): { from: number; to: number; of: readonly Suggestion[] } {
  const typed = WORD.exec(text.slice(0, caret))?.[0] ?? ''
  const from = caret - typed.length
  const word = typed.replace('"', '').toLowerCase()
  const to = caret + (/^"/.exec(text.slice(caret))?.[0].length ?? 0)
  if (typed === '') return { from, to, of: [] }
  const named = [...fields, '_id', 'createdAt', 'updatedAt'].filter(isFieldName)
  const all = [
    ...(word.startsWith('$$') ? [] : named.map((name) => ({ insert: JSON.stringify(name), about: 'field' }))),
    ...VALUES,
    ...(word.startsWith('$$') ? [] : [...OPERATORS, ...AUDIENCES]),
  ]
  const of = all.filter(({ insert }) => insert.slice(1).toLowerCase().startsWith(word))
  const isWhole = of.length === 1 && text.slice(from, to) === of[0]!.insert
  return { from, to, of: isWhole ? [] : of.slice(0, SHOWN) }
}
