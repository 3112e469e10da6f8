import { signal } from '@preact/signals'

/** The cell that is edited. */
export const editing = signal<{ id: string; path: string } | undefined>(undefined)
