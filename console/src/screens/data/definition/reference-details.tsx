import { DetailCheck, DetailNumber, DetailSelect, DetailText } from './detail-inputs.tsx'
import {
  isSeveral,
  withSeveral,
  type FileLimits,
  type FieldRelation,
  type TableField,
} from './field-types.ts'

export type DetailsProps = {
  field: TableField
  label: string
  isLocked: boolean
  /** Of all collections. */
  names: readonly string[]
  change: (field: TableField) => void
}

const ON_DELETE = [
  ['restrict', 'Keep it from being deleted'],
  ['unset', 'Remove this field'],
  ['cascade', 'Delete this document too'],
] as const

/** Where a relation leads, and what happens when that document is deleted. */
export function RelationDetails({ field, label, isLocked, names, change }: DetailsProps) {
  const relation = field.relation!
  const set = (changes: Partial<FieldRelation>) => change({ ...field, relation: { ...relation, ...changes } })
  const known = [...new Set([relation.to, ...names])].filter(Boolean)
  return (
    <>
      <DetailSelect
        label="To the collection"
        of={label}
        isLocked={isLocked}
        value={relation.to}
        options={[['', 'Choose one'], ...known.map((name) => [name, name] as const)]}
        onValue={(to) => set({ to })}
      />
      <DetailSelect
        label="If that one is deleted"
        of={label}
        isLocked={isLocked}
        value={relation.onDelete ?? 'restrict'}
        options={ON_DELETE}
        onValue={(onDelete) => set({ onDelete })}
      />
      <DetailCheck
        label="Several documents"
        of={label}
        isLocked={isLocked}
        isOn={isSeveral(field)}
        onCheck={(isOn) => change(withSeveral(field, isOn))}
      />
    </>
  )
}

/** Which files a field takes, and who reads them. */
export function FilesDetails({ field, label, isLocked, change }: DetailsProps) {
  const { types, maxBytes, max = 1, access = 'document' } = field.files!
  const set = (name: keyof FileLimits, value: unknown) => {
    const { [name]: _, ...rest } = field.files!
    return { ...field, files: value === undefined ? rest : { ...rest, [name]: value } }
  }
  const common = { of: label, isLocked }
  return (
    <>
      <DetailText
        {...common}
        label="Types"
        hint="Such as image/*, application/pdf. Empty: all."
        value={Array.isArray(types) ? types.join(', ') : ''}
        onValue={(text) => {
          const list = (text ?? '').split(',').map((one) => one.trim())
          const named = list.filter(Boolean)
          change(set('types', named.length > 0 ? named : undefined))
        }}
      />
      <DetailText
        {...common}
        label="Largest size"
        hint="In bytes, or such as 5MB. Empty: that of uploads."
        value={maxBytes === undefined ? '' : String(maxBytes)}
        onValue={(text) =>
          change(set('maxBytes', text !== undefined && /^\d+$/.test(text) ? Number(text) : text))
        }
      />
      <DetailNumber
        {...common}
        label="How many files"
        value={max}
        isWhole
        onValue={(count) => change(withSeveral(set('max', count), (count ?? 1) > 1))}
      />
      <DetailSelect
        {...common}
        label="Who reads them"
        value={access}
        options={[
          ['document', 'Who may read the document'],
          ['public', 'Everybody who has the address'],
        ]}
        onValue={(next) => change(set('access', next))}
      />
    </>
  )
}
