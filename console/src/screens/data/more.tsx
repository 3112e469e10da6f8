import { openLate } from '../../parts/late.tsx'
import { canWrite } from '../../parts/session.ts'
import { Tool, type ToolsProps } from './tool.tsx'

/** The tools of a grid that are used less. */
export default function More({ collection, query, columns, fields = [], choose, again }: ToolsProps) {
  const of = { collection, again }
  // The routes of these take a filter, and would act on all documents.
  const isSearch = query.search !== ''
  const tools: [title: string, open: () => void, isDisabled?: boolean][] = [
    ['Views', () => openLate(() => import('./saved-views.tsx'), { collection, columns, choose })],
    ['Plots', () => openLate(() => import('./plots/index.tsx'), { collection, query, fields })],
    ['Import', () => openLate(() => import('./import.tsx'), of), !canWrite.value],
    [
      'Change all…',
      () =>
        openLate(() => import('./bulk.tsx'), {
          ...of,
          filter: query.filter,
          owner: query.owner,
          ids: undefined,
        }),
      !canWrite.value || isSearch,
    ],
    ['API', () => openLate(() => import('./api.tsx'), of)],
    ['Why is it slow?', () => openLate(() => import('./explain.tsx'), { collection, query })],
    ['About', () => openLate(() => import('./about.tsx'), { ...of, query })],
  ]
  return (
    <>
      {tools.map(([title, open, isDisabled = false]) => (
        <Tool key={title} title={title} open={open} disabled={isDisabled} />
      ))}
    </>
  )
}
