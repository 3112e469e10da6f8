/** The types of a value that the form offers. `date` is a text of a moment, as JSON has none. */
export const TYPES = ['text', 'number', 'boolean', 'date', 'object', 'array', 'null'] as const
export type ValueType = (typeof TYPES)[number]

/**
 * A value as the form edits it. Numbers and dates are kept as they are typed, right or wrong, so that nothing typed is lost.
 * `key` tells a node from its siblings while they move.
 */
export type TreeNode = { key: number } & (
  | { type: 'text' | 'number' | 'date'; text: string }
  | { type: 'boolean'; isTrue: boolean }
  | { type: 'null' }
  | { type: 'object'; fields: readonly TreeField[] }
  | { type: 'array'; items: readonly TreeNode[] }
)
export type TreeField = { name: string; node: TreeNode }

const INDENT = '  '
let keys = 0

export const isMoment = (text: string): boolean => {
  // Later years have six digits, which no field for dates takes.
  if (!/^\d{4}-/.test(text)) return false
  const time = Date.parse(text)
  return !Number.isNaN(time) && new Date(time).toISOString() === text
}

/** The tree of a value of JSON. */
export function treeOf(value: unknown): TreeNode {
  const key = ++keys
  if (value === null || value === undefined) return { key, type: 'null' }
  if (typeof value === 'boolean') return { key, type: 'boolean', isTrue: value }
  if (typeof value === 'number') return { key, type: 'number', text: numberText(value) }
  if (typeof value === 'string') return { key, type: isMoment(value) ? 'date' : 'text', text: value }
  if (Array.isArray(value)) return { key, type: 'array', items: value.map(treeOf) }
  const fields = Object.entries(value).map(([name, inner]) => ({ name, node: treeOf(inner) }))
  return { key, type: 'object', fields }
}

const numberText = (value: number): string => JSON.stringify(value)

/** The tree as JSON text. A number is written as it was typed: a wrong one makes a text that is no JSON. */
export function textOf(node: TreeNode, indent = ''): string {
  const inner = indent + INDENT
  switch (node.type) {
    case 'null':
      return 'null'
    case 'boolean':
      return String(node.isTrue)
    case 'number':
      return node.text.trim()
    case 'text':
    case 'date':
      return JSON.stringify(node.text)
    case 'array':
      return block(
        '[]',
        node.items.map((item) => inner + textOf(item, inner)),
        indent,
      )
    case 'object':
      return block(
        '{}',
        node.fields.map(
          ({ name, node: value }) => `${inner}${JSON.stringify(name)}: ${textOf(value, inner)}`,
        ),
        indent,
      )
  }
}

const block = (marks: '[]' | '{}', lines: readonly string[], indent: string): string =>
  lines.length === 0 ? marks : `${marks[0]}\n${lines.join(',\n')}\n${indent}${marks[1]}`

/** The node as another type, with as much of its value as fits. */
export function withType(node: TreeNode, type: ValueType): TreeNode {
  const { key } = node
  const text = 'text' in node ? node.text : node.type === 'boolean' ? String(node.isTrue) : ''
  switch (type) {
    case 'null':
      return { key, type }
    case 'boolean':
      return { key, type, isTrue: text === 'true' || (node.type === 'number' && Number(text) !== 0) }
    case 'number':
      return { key, type, text: text.trim() !== '' && Number.isFinite(Number(text)) ? text.trim() : '0' }
    case 'date':
      return { key, type, text: isMoment(text) ? text : new Date().toISOString() }
    case 'text':
      return { key, type, text }
    case 'object':
      return node.type === 'array'
        ? { key, type, fields: node.items.map((item, at) => ({ name: String(at), node: item })) }
        : { key, type, fields: 'fields' in node ? node.fields : [] }
    case 'array':
      if (node.type === 'object') return { key, type, items: node.fields.map((field) => field.node) }
      return { key, type, items: 'items' in node ? node.items : node.type === 'null' ? [] : [newNode(node)] }
  }
}

const newNode = (node: TreeNode): TreeNode => ({ ...node, key: ++keys })

/** How many values a tree has, itself included; counted up to a limit. */
export function sizeOf(node: TreeNode, limit = 10_000): number {
  const children =
    node.type === 'object' ? node.fields.map((one) => one.node) : node.type === 'array' ? node.items : []
  let size = 1
  for (const child of children) {
    if (size >= limit) break
    size += sizeOf(child, limit - size)
  }
  return size
}
