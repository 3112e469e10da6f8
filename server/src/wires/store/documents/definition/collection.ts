import { didYouMean } from '../../../../base/did-you-mean.ts'
import { errors } from '../../../../base/errors.ts'
import { StartError } from '../../../../base/start-error.ts'
import type { PolicyName } from '../../../../kernel/policy/policy.ts'
import { isInside, parseFieldPath } from '../language/fields/field-path.ts'
import type { FieldRules } from '../language/fields/view.ts'
import { HOOK_NAMES, type Hooks } from './hooks.ts'
import { quote, type Path } from '../language/query/path.ts'
import { parseFileFields, type FileField } from './file-field.ts'
import type { Relation } from './relation.ts'
import {
  ACCESS_WORDS,
  audienceOf,
  needsAdmin,
  type AccessWord,
  type Action,
} from '../language/rules/audience.ts'
import { compileSchema, type DocumentCheck } from '../language/schema/compile-schema.ts'
import { parseSearchFields } from './search-option.ts'
import { isRequired } from '../language/schema/required-fields.ts'
import {
  OWN_VALUES,
  parseRule,
  type Rule,
  type RuleOption,
  type RuleSubject,
  type ValueNames,
} from '../language/rules/rule.ts'
import type { CollectionDeclaration, CollectionOption, UpdateRuleOption } from './collection-option.ts'

/** A collection as the configuration declares it, read. */
export type CollectionDefinition = FieldRules & {
  readonly name: string
  readonly read: Rule
  readonly create: Rule
  readonly update: { readonly before: Rule; readonly after: Rule }
  readonly delete: Rule
  readonly readOnly: readonly Path[]
  /** Whether everybody who creates a document may send its `_id`; service keys always may. */
  readonly takesIds: boolean
  /** The values of `store.user` that its rules need. */
  readonly userValues: readonly string[]
  /** Whether it declares audiences at most: then an action needs no right to read. */
  readonly isPlain: boolean
  readonly schema: unknown
  /** What is wrong with the fields of a document; undefined without a schema. */
  readonly validate: DocumentCheck | undefined
  readonly relations: readonly Relation[]
  readonly fileFields: readonly FileField[]
  /** The fields that searches look into; none: it cannot be searched. */
  readonly search: readonly Path[]
  /** Whether changes are logged. */
  readonly hasChanges: boolean
  readonly hooks: Hooks
}

/** What collections are read with. */
export type CollectionContext = {
  readonly policy: PolicyName
  /** The names in `store.user`; `any` if they are not known. */
  readonly userValues: readonly string[] | 'any'
}

/**
 * Reads a collection of the configuration.
 *
 * @param option undefined: the policy decides alone
 * @throws StartError
 */
export function readCollection(
  name: string,
  option: CollectionOption | undefined,
  { policy, userValues }: CollectionContext,
): CollectionDefinition {
  const at = `store.collections.${name}`
  const declared = declarationOf(option ?? {}, at)
  const names: ValueNames = userValues === 'any' ? userValues : [...OWN_VALUES, ...userValues]
  const ruleOf = (action: Action, rule: RuleOption = audienceOf(policy, action), suffix = ''): Rule =>
    parseRule(rule, `${at}.${action}${suffix}`, names)
  const { before, after } = updateOf(declared.update, at)
  const create = ruleOf('create', declared.create)
  if (create.audiences.has('public'))
    throw new StartError(
      `${at}.create: nobody creates documents without signing in: use user in place of public`,
    )
  const showTo = Object.entries(declared.showTo ?? {}).map(([path, rule]) => ({
    path: parseFieldPath(path, `${at}.showTo`),
    rule: parseRule(rule, `${at}.showTo.${path}`, names),
  }))
  const hidden = pathsOf(declared.hidden, `${at}.hidden`)
  const concealed = [...hidden, ...showTo.map(({ path }) => path)]
  const relations = relationsOf(declared, at)
  const referencePaths = relations.map(({ path }) => path)
  const collection = {
    name,
    read: ruleOf('read', declared.read),
    create,
    update: { before: ruleOf('update', before, '.before'), after: ruleOf('update', after, '.after') },
    delete: ruleOf('delete', declared.delete),
    concealed,
    hidden,
    showTo,
    readOnly: pathsOf(declared.readOnly, `${at}.readOnly`),
    takesIds: declared.ids === 'client',
    schema: declared.schema,
    validate: declared.schema && compileSchema(declared.schema, `${at}.schema`),
    relations,
    fileFields: parseFileFields(declared.files, name, referencePaths, `${at}.files`),
    hasChanges: declared.changes ?? true,
    hooks: hooksOf(declared, at),
  }
  checkUnique(declared, hidden, at)
  checkApart(concealed, `${at}.hidden`)
  const rules = rulesIn(collection)
  const used = new Set(rules.flatMap(({ filters }) => filters.flatMap(({ values }) => [...values])))
  return {
    ...collection,
    search: parseSearchFields(declared.search, concealed, `${at}.search`),
    userValues: [...used].filter((value) => !OWN_VALUES.includes(value)),
    isPlain: Object.keys(declared).every((key) => key in ACCESS_WORDS.owner) && rules.every(isOfAudiences),
  }
}

/**
 * What an option declares, also if it is a word only.
 *
 * @param at where it stands, for errors
 * @throws StartError
 */
export const declarationOf = (option: CollectionOption, at: string): CollectionDeclaration =>
  typeof option === 'string' ? ofWord(option, at) : option

/** @throws StartError */
function ofWord(word: AccessWord, at: string): CollectionDeclaration {
  if (Object.hasOwn(ACCESS_WORDS, word)) return ACCESS_WORDS[word]
  const words = Object.keys(ACCESS_WORDS)
  const known =
    didYouMean(word, words) || `; these are: ${words.join(', ')}. Rules for each action stand in { read: … }`
  throw new StartError(`${at}: ${quote(word)} is no word for a collection${known}`)
}

const isOfAudiences = ({ filters }: Rule): boolean => filters.length === 0

const rulesIn = ({
  read,
  create,
  update,
  delete: remove,
  showTo,
}: Pick<CollectionDefinition, 'read' | 'create' | 'update' | 'delete' | 'showTo'>): readonly Rule[] => [
  read,
  create,
  update.before,
  update.after,
  remove,
  ...showTo.map(({ rule }) => rule),
]

/** The two rules of updates. */
function updateOf(
  option: UpdateRuleOption | undefined,
  at: string,
): { before?: RuleOption; after?: RuleOption } {
  if (option === undefined) return {}
  const keys = typeof option === 'object' && !Array.isArray(option) ? Object.keys(option) : []
  const [key] = keys.filter((one) => one === 'before' || one === 'after')
  if (key === undefined) return { before: option, after: option }
  if (keys.length !== 2 || !keys.includes('before') || !keys.includes('after'))
    throw new StartError(
      `${at}.update: give before and after, both and nothing else. A filter of a field named ${key} stands in { $and: [ … ] }`,
    )
  return option as { before: RuleOption; after: RuleOption }
}

const pathsOf = (paths: readonly string[] | undefined, at: string): Path[] =>
  (paths ?? []).map((path, i) => parseFieldPath(path, `${at}[${i}]`))

/** @throws StartError if one of the fields is inside of another one */
function checkApart(paths: readonly Path[], at: string): void {
  for (const [i, path] of paths.entries())
    for (const other of paths.slice(i + 1))
      if (isInside(path, other) || isInside(other, path))
        throw new StartError(
          `${at}: ${path.join('.')} and ${other.join('.')} are the same or inside of each other`,
        )
}

/** @throws StartError where a conflict would tell whether a hidden value is the same as one of another document */
function checkUnique({ unique = [] }: CollectionDeclaration, hidden: readonly Path[], at: string): void {
  for (const [i, one] of unique.entries()) {
    const fields = typeof one === 'object' && 'fields' in one ? one.fields : [one].flat()
    const isHidden = (name: string) => hidden.some((path) => isInside(name.split('.'), path))
    if (fields.some(isHidden) && !fields.every(isHidden))
      throw new StartError(
        `${at}.unique[${i}]: ${fields.filter(isHidden).join(', ')} is hidden: who changes the other fields would learn whether it is the same elsewhere`,
      )
  }
}

function relationsOf({ relations = {}, schema }: CollectionDeclaration, at: string): Relation[] {
  return Object.entries(relations).map(([name, { to, onDelete = 'restrict' }]) => {
    const path = parseFieldPath(name, `${at}.relations`)
    if (onDelete === 'unset' && schema && isRequired(schema, path))
      throw new StartError(`${at}.relations.${name}: the schema requires this field: unset cannot remove it`)
    return { path, to, onDelete }
  })
}

function hooksOf({ hooks = {} }: CollectionDeclaration, at: string): Hooks {
  for (const [name, hook] of Object.entries(hooks)) {
    if (!(HOOK_NAMES as readonly string[]).includes(name))
      throw new StartError(
        `${at}.hooks.${name}: no such hook${didYouMean(name, HOOK_NAMES) || `: there are ${HOOK_NAMES.join(', ')}`}`,
      )
    if (hook !== undefined && typeof hook !== 'function')
      throw new StartError(`${at}.hooks.${name}: must be a function`)
  }
  return hooks
}

/**
 * Checks that a rule can allow the caller any document at all.
 *
 * @param isWrite then a filter is for signed-in callers, also one without `$$user`: strangers write only what is `public`
 * @throws UNAUTHORIZED, FORBIDDEN
 */
export function checkAudience({ audiences, filters }: Rule, subject: RuleSubject, isWrite: boolean): void {
  if (subject.isPrivileged || audiences.has('public')) return
  if (!subject.isSignedIn) {
    if (!isWrite && filters.some(({ values }) => values.size === 0)) return
    throw errors.unauthorized()
  }
  if (filters.length === 0 && !audiences.has('user') && !audiences.has('owner')) throw needsAdmin()
}
