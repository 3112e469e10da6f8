import { useState } from 'preact/hooks'

import { fieldsOf } from './field-table.ts'
import { choiceOf, choicesOf, RIGHTS, withRule, type Right, type RuleChoice } from './rule-choices.ts'
import { RuleInput } from './rule-input.tsx'
import type { DefinitionDraft } from './use-definition.ts'

const QUESTIONS: Readonly<Record<Right, string>> = {
  read: 'Who may read a document?',
  create: 'Who may create one?',
  update: 'Who may change one?',
  delete: 'Who may delete one?',
}

/** A rule to begin with: it holds for nobody but who is named in the document. */
const startOf = (before: unknown): unknown =>
  before === undefined || before === 'public' || before === 'user'
    ? { members: '$$user._id' }
    : [before, { published: true }]

/** Who may do what, in sentences first and as a filter where none of them says it. */
export default function Rules({ draft }: { draft: DefinitionDraft }) {
  const names = fieldsOf(draft.definition!).map(({ name }) => name)
  return (
    <div class="rules">
      {RIGHTS.map((right) => (
        <RightFields key={right} right={right} draft={draft} names={names} />
      ))}
      <p class="hint">
        Administrators and service keys may do everything that the fields allow. Try it under “Who may?”.
      </p>
    </div>
  )
}

function RightFields({
  right,
  draft,
  names,
}: {
  right: Right
  draft: DefinitionDraft
  names: readonly string[]
}) {
  const rule = draft.definition![right]
  const choice = choiceOf(right, rule)
  // A rule may be typed that is one of the sentences: what is typed stays on the page.
  const [isTyping, setTyping] = useState(choice === 'rule')
  const shown = isTyping ? 'rule' : choice
  const set = (next: unknown) => draft.edit((definition) => withRule(definition, right, next))
  function choose(next: RuleChoice): void {
    setTyping(next === 'rule')
    draft.note(right, undefined)
    if (next !== 'rule') set(next === 'unset' ? undefined : next)
    else if (choice !== 'rule') set(startOf(rule))
  }
  return (
    <fieldset>
      <legend>{QUESTIONS[right]}</legend>
      <div class="sentences">
        {choicesOf(right).map(([value, sentence]) => (
          <label key={value} class="check">
            <input
              type="radio"
              name={`rule-${right}`}
              value={value}
              checked={shown === value}
              disabled={draft.isLocked}
              onChange={() => choose(value)}
            />{' '}
            {sentence}
          </label>
        ))}
      </div>
      {shown === 'rule' && (
        <RuleInput
          label={`Rule: ${QUESTIONS[right]}`}
          rule={draft.definition![right]}
          fields={names}
          isLocked={draft.isLocked}
          onRule={set}
          onFault={(fault) => draft.note(right, fault && `${QUESTIONS[right]} ${fault}`)}
        />
      )}
    </fieldset>
  )
}
