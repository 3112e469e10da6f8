import type { PolicyName } from '../../../../../kernel/policy/policy.ts'
import type { CollectionOption } from '../../definition/collection-option.ts'
import { declarationOf } from '../../definition/collection.ts'
import type { Json } from '../../language/query/filter.ts'
import { audienceOf, type Action } from '../../language/rules/audience.ts'
import {
  isWithin,
  parseRule,
  rowFilterOf,
  type RuleOption,
  type RuleSubject,
} from '../../language/rules/rule.ts'

/** A document that a rule is asked for, with its owner; undefined for a list. */
export type AskedDocument = { readonly owner: string; readonly json: () => Json } | undefined

/** The rule of an action as it is defined; of an update that for the document as it is. */
export function ruleOf(option: CollectionOption | undefined, action: Action, policy: PolicyName): RuleOption {
  const rule = declarationOf(option ?? {}, '')[action] ?? audienceOf(policy, action)
  const isPair = typeof rule === 'object' && 'before' in rule && 'after' in rule
  return (isPair ? rule.before : rule) as RuleOption
}

/** The alternative of a rule that lets somebody to a document: a word or a filter; undefined if none does. */
export function holdingAlternative(
  rule: RuleOption,
  subject: RuleSubject,
  document: AskedDocument,
): RuleOption | undefined {
  if (!document) return rule
  const alternatives = [rule].flat() as RuleOption[]
  return alternatives.find((one) =>
    isWithin(rowFilterOf(parseRule(one, '', 'any'), subject), document.owner, document.json),
  )
}
