import type { SampleCall } from './call.ts'

export type Language = {
  readonly name: string
  readonly title: string
  /** Each language is loaded when it is shown first. */
  readonly load: () => Promise<{ default: (call: SampleCall) => string }>
}

export const languages: readonly Language[] = [
  { name: 'curl', title: 'curl', load: () => import('./curl.ts') },
  { name: 'typescript', title: 'TypeScript', load: () => import('./typescript.ts') },
  { name: 'python', title: 'Python', load: () => import('./python.ts') },
  { name: 'kotlin', title: 'Kotlin', load: () => import('./kotlin.ts') },
  { name: 'dart', title: 'Dart', load: () => import('./dart.ts') },
  { name: 'swift', title: 'Swift', load: () => import('./swift.ts') },
]
