import { setQuery } from '../../../parts/router.tsx'
import { detailsOf, schemaOf, typeOf, withKeyword, type FieldType, type JsonFields } from './field-types.ts'
import { DetailCheck, DetailNumber, DetailSelect, DetailText } from './detail-inputs.tsx'
import { FilesDetails, RelationDetails, type DetailsProps } from './reference-details.tsx'

/** The keywords that are numbers, with what they are called. */
const NUMBERS: Readonly<Record<string, string>> = {
  minimum: 'At least',
  maximum: 'At most',
  minLength: 'Shortest, in characters',
  maxLength: 'Longest, in characters',
  minItems: 'Fewest items',
  maxItems: 'Most items',
}
const TEXTS: readonly FieldType[] = ['text', 'long', 'email', 'url', 'choice']
const NO_DEFAULT: readonly FieldType[] = ['relation', 'files', 'json', 'list', 'object', 'objects']

/** What is to be said of a field beside its name and type. */
export default function FieldDetails(props: DetailsProps) {
  const { field, label, isLocked, change } = props
  const type = typeOf(field)
  const schema = schemaOf(field)
  const details = detailsOf(type)
  const set = (name: string) => (value: unknown) => change(withKeyword(field, name, value))
  const of = (name: string) => ({ label: NUMBERS[name]!, of: label, isLocked })
  const check = (key: 'isUnique' | 'ignoresCase' | 'isSearchable' | 'isReadOnly') => ({
    isOn: field[key],
    isLocked,
    onCheck: (isOn: boolean) => change({ ...field, [key]: isOn }),
  })
  return (
    <>
      {type === 'json' && (
        <p class="hint">
          Its schema is not one that a row can show.{' '}
          <button type="button" class="link" onClick={() => setQuery({ tab: 'json' })}>
            Change it as JSON
          </button>
        </p>
      )}
      <div class="detail-grid">
        {type === 'relation' && <RelationDetails {...props} />}
        {type === 'files' && <FilesDetails {...props} />}
        {type === 'choice' && (
          <DetailText
            label="Choices, one a line"
            of={label}
            isLocked={isLocked}
            lines={4}
            value={(schema['enum'] as string[]).join('\n')}
            onValue={(text) =>
              set('enum')([...new Set((text ?? '').split('\n').map((one) => one.trim()))].filter(Boolean))
            }
          />
        )}
        {details
          .filter((name) => name in NUMBERS)
          .map((name) => (
            <DetailNumber
              key={name}
              {...of(name)}
              value={schema[name]}
              isWhole={!['minimum', 'maximum'].includes(name) || type === 'integer'}
              onValue={set(name)}
            />
          ))}
        {details.includes('pattern') && (
          <DetailText
            label="Pattern"
            of={label}
            hint="A regular expression, such as ^[A-Z]{2}[0-9]+$"
            isLocked={isLocked}
            value={schema['pattern']}
            onValue={set('pattern')}
          />
        )}
        {!NO_DEFAULT.includes(type) && (
          <DefaultValue {...{ type, schema, label, isLocked }} onValue={set('default')} />
        )}
        <ShownTo {...props} />
        {type !== 'json' && (
          <DetailText
            label="What it is, for people"
            of={label}
            isLocked={isLocked}
            value={schema['description']}
            onValue={set('description')}
          />
        )}
      </div>
      <div class="detail-checks">
        <DetailCheck label="Unique: no two documents have the same" of={label} {...check('isUnique')} />
        {field.isUnique && TEXTS.includes(type) && (
          <DetailCheck label="Ann and ANN are the same" of={label} {...check('ignoresCase')} />
        )}
        {(TEXTS.includes(type) || type === 'list' || field.isSearchable) && (
          <DetailCheck label="Searched for words" of={label} {...check('isSearchable')} />
        )}
        <DetailCheck label="Read-only for all but administrators" of={label} {...check('isReadOnly')} />
      </div>
      <p class="hint">Indexes need no choice here: the server adds those that lists use.</p>
    </>
  )
}

/** Who sees a field, as far as a choice can say it. */
const AUDIENCES: Readonly<Record<string, string>> = {
  '': 'All who read the document',
  user: 'Everybody who is signed in',
  owner: 'The owner of the document',
  hidden: 'Administrators only',
}

function ShownTo({ field, label, isLocked, change }: DetailsProps) {
  const { isHidden, showTo } = field
  const shown = isHidden ? 'hidden' : showTo === undefined ? '' : showTo
  const isRule = typeof shown !== 'string' || !(shown in AUDIENCES)
  return (
    <DetailSelect
      label="Shown to"
      of={label}
      isLocked={isLocked}
      value={isRule ? 'rule' : shown}
      options={[
        ...Object.entries(AUDIENCES),
        ...(isRule ? [['rule', 'By a rule: see the JSON'] as const] : []),
      ]}
      onValue={(value) => {
        const isAudience = value !== '' && value !== 'hidden'
        if (value !== 'rule')
          change({ ...field, isHidden: value === 'hidden', showTo: isAudience ? value : undefined })
      }}
    />
  )
}

function DefaultValue(props: {
  type: FieldType
  schema: JsonFields
  label: string
  isLocked: boolean
  onValue: (value: unknown) => void
}) {
  const { type, schema, label, isLocked, onValue } = props
  const value = schema['default']
  const common = { label: 'Default', of: label, isLocked }
  const hint = 'New documents made in the console begin with it.'
  if (type === 'number' || type === 'integer')
    return (
      <DetailNumber {...common} hint={hint} value={value} isWhole={type === 'integer'} onValue={onValue} />
    )
  if (type === 'boolean' || type === 'choice') {
    const options = type === 'boolean' ? ['true', 'false'] : (schema['enum'] as string[])
    const title = (one: string) => (type === 'choice' ? one : one === 'true' ? 'Yes' : 'No')
    return (
      <DetailSelect
        {...common}
        hint={hint}
        value={typeof value === 'boolean' || typeof value === 'string' ? String(value) : ''}
        options={[['', 'None'], ...options.map((one) => [one, title(one)] as const)]}
        onValue={(text) => onValue(text === '' ? undefined : type === 'boolean' ? text === 'true' : text)}
      />
    )
  }
  return <DetailText {...common} hint={hint} value={value} onValue={onValue} />
}
