import { readJson, type JsonFault } from '../../../parts/json-text.ts'
import { textOf, treeOf, type TreeNode } from './tree.ts'

export type DocumentFields = Record<string, unknown>

/** What is being made of a document: in the form a tree, in the JSON editor a text, right or wrong. */
export type DocumentDraft = { tree: TreeNode } | { text: string }

/** A draft as fields, or what keeps it from being some. */
export type DraftValue = { fields: DocumentFields } | { faults: readonly JsonFault[] }

/** The fields that people edit: not those of the server. */
export function ownFields(document: DocumentFields): DocumentFields {
  const { _id, createdAt, updatedAt, ...fields } = document
  return fields
}

export const textOfFields = (fields: DocumentFields): string => JSON.stringify(fields, null, 2)

export const draftOf = (fields: DocumentFields): DocumentDraft => ({ text: textOfFields(fields) })

export const draftText = (draft: DocumentDraft): string => ('text' in draft ? draft.text : textOf(draft.tree))

export function draftValue(draft: DocumentDraft): DraftValue {
  const text = draftText(draft)
  const read = readJson(text)
  if (!('value' in read)) return { faults: read.faults }
  if (typeof read.value !== 'object' || read.value === null || Array.isArray(read.value))
    return { faults: [{ from: 0, to: text.length, message: 'A document is an object: { … }.' }] }
  return { fields: read.value as DocumentFields }
}

/** The tree for the form; undefined if the text of the draft is no object. */
export function draftTree(draft: DocumentDraft): TreeNode | undefined {
  if ('tree' in draft) return draft.tree
  const value = draftValue(draft)
  return 'fields' in value ? treeOf(value.fields) : undefined
}

/**
 * Drafts of documents whose pane was left with changes, by `collection/id`, as long as the tab is open: nothing typed is lost.
 * `base` is the document that was changed; undefined for a new one.
 */
export const drafts = new Map<string, { draft: DocumentDraft; base: DocumentFields | undefined }>()

addEventListener('beforeunload', (event) => {
  if (drafts.size > 0) event.preventDefault()
})
