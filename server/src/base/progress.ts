/** How far an operation is. */
export type Progress = {
  /** What is being done, in a word. */
  phase: string
  done: number
  total: number
  unit: 'bytes' | 'documents' | 'rows' | 'jobs' | 'users' | 'files' | 'objects'
  /** How many bytes were passed on, where `unit` is another one. */
  bytes?: number
}
