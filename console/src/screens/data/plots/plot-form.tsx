import { useState } from 'preact/hooks'

import { Choice, Form } from '../../../parts/form.tsx'
import type { SavedPlot } from '../views.ts'
import { MEASURES, SLOTS } from './bars.ts'

/** A field of the documents, and the types that it has. */
export type PlotField = { readonly path: string; readonly types: Readonly<Record<string, number>> }

const TIMES = ['createdAt', 'updatedAt']

/** Chooses what a new plot shows. */
export function PlotForm({ fields, add }: { fields: readonly PlotField[]; add: (plot: SavedPlot) => void }) {
  const [measure, setMeasure] = useState<string>('count')
  const numbers = fields.filter(({ types }) => 'number' in types).map(({ path }) => path)
  const paths = [...new Set([...TIMES, ...fields.map(({ path }) => path)])].filter((path) => path !== '_id')
  const options = (values: readonly string[]) => values.map((value) => [value, value] as const)
  return (
    <Form
      submit="Add the plot"
      send={async (value) =>
        add({
          measure: value('measure') as SavedPlot['measure'],
          ...(measure !== 'count' && { field: value('field') }),
          by: value('by'),
          slot: value('slot') as SavedPlot['slot'],
        })
      }
    >
      <div class="fields-row">
        <Choice
          name="measure"
          label="What is shown"
          options={numbers.length === 0 ? MEASURES.slice(0, 1) : MEASURES}
          onChoice={setMeasure}
        />
        {measure !== 'count' && <Choice name="field" label="Of the field" options={options(numbers)} />}
        <Choice name="by" label="By the field" options={options(paths)} />
        <Choice name="slot" label="One bar for" options={SLOTS} defaultValue="day" />
      </div>
    </Form>
  )
}
