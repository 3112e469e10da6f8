import type { GridQuery } from './documents.ts'

export type GridField = { path: string; documents: number; types: Readonly<Record<string, number>> }

/** What the tools of a grid work on. */
export type ToolsProps = {
  collection: string
  query: GridQuery
  columns: readonly string[]
  /** Undefined until they are known. */
  fields: readonly GridField[] | undefined
  choose: (names: readonly string[] | undefined) => void
  again: () => void
}

/** A button of a tool; within a menu it closes that. */
export const Tool = (props: { title: string; open: () => void; disabled?: boolean }) => (
  <button
    type="button"
    class="small"
    disabled={props.disabled}
    onClick={(event) => {
      event.currentTarget.closest('details')?.removeAttribute('open')
      props.open()
    }}
  >
    {props.title}
  </button>
)
