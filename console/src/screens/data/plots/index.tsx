import { useState } from 'preact/hooks'

import { Chart } from '../../../parts/chart.tsx'
import { Dialog } from '../../../parts/dialog.tsx'
import { Show, useLoad } from '../../../parts/load.tsx'
import { Text } from '../../../parts/text.tsx'
import type { GridQuery } from '../documents.ts'
import { choicesOf, keepChoices, type SavedPlot } from '../views.ts'
import { PlotForm, type PlotField } from './plot-form.tsx'
import { Ranked } from './ranked.tsx'
import { loadBars, PLOTS_MAX, titleOf } from './bars.ts'

/** Up to three pictures of what the filter of the grid finds, kept for the collection in this browser. */
export default function Plots(props: {
  collection: string
  query: GridQuery
  fields: readonly PlotField[]
  close: () => void
}) {
  const { collection, query, fields, close } = props
  const [plots, setPlots] = useState(() => choicesOf(collection).plots ?? [])
  const [isAdding, setAdding] = useState(plots.length === 0)
  function keep(next: readonly SavedPlot[]): void {
    keepChoices(collection, { plots: next })
    setPlots(next)
  }
  return (
    <Dialog title={`Plots of ${collection}`} close={close} wide>
      {(query.filter !== '' || query.search !== '') && (
        <p class="soft">Of the documents that the filter finds.</p>
      )}
      <ul class="collection-plots">
        {plots.map((plot) => (
          <li key={titleOf(plot)}>
            <SavedPlotView {...{ collection, plot, query }} />
            <button
              type="button"
              class="small"
              aria-label={`Delete the plot ${titleOf(plot)}`}
              onClick={() => keep(plots.filter((one) => one !== plot))}
            >
              Delete
            </button>
          </li>
        ))}
      </ul>
      {isAdding && plots.length < PLOTS_MAX && (
        <PlotForm
          fields={fields}
          add={(plot) => {
            keep([...plots.filter((one) => titleOf(one) !== titleOf(plot)), plot])
            setAdding(false)
          }}
        />
      )}
      <div class="buttons end">
        {!isAdding && plots.length < PLOTS_MAX && (
          <button type="button" onClick={() => setAdding(true)}>
            Add a plot
          </button>
        )}
        <button type="button" onClick={close}>
          Close
        </button>
      </div>
    </Dialog>
  )
}

const number = (value: number): string => value.toLocaleString(undefined, { maximumFractionDigits: 2 })

function SavedPlotView(props: { collection: string; plot: SavedPlot; query: GridQuery }) {
  const { collection, plot, query } = props
  const title = titleOf(plot)
  const loaded = useLoad(
    (signal) => loadBars(collection, plot, query, signal),
    [collection, title, query.filter, query.search],
  )
  return (
    <section aria-label={title}>
      <h3>
        <Text>{title}</Text>
      </h3>
      <Show of={loaded}>
        {({ bars, hasMore }) =>
          bars.length === 0 ? (
            <p class="soft">No documents have this field.</p>
          ) : (
            <>
              {plot.slot ? (
                <Chart title={title} unit="" bars={bars} text={number} />
              ) : (
                <Ranked title={title} bars={bars} text={number} />
              )}
              {hasMore && (
                <p class="soft">{plot.slot ? 'The newest ones.' : 'Those of the most documents.'}</p>
              )}
            </>
          )
        }
      </Show>
    </section>
  )
}
