const NAMES = ['title', 'name', 'label', 'subject', 'slug', 'email', 'number']
const LONGEST = 80

/** What people call a document: its title, its name, or the first text in it; its `_id` if there is none. */
export function titleOf(document: Readonly<Record<string, unknown>>): string {
  const { _id, createdAt: _, updatedAt: __, ...fields } = document
  const named = NAMES.map((name) => fields[name])
  const found = [...named, ...Object.values(fields)].find(
    (value) => (typeof value === 'string' && value.trim() !== '') || typeof value === 'number',
  )
  const text = String(found ?? _id)
  return text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text
}
