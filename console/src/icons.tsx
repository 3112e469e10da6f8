/** Lines in a square of 20, of the areas of the menu and more. */
const LINES = {
  overview: 'M3 3h6v8H3zM12 3h5v4h-5zM12 10h5v7h-5zM3 14h6v3H3z',
  data: 'M3.5 5c0-1.4 2.9-2.5 6.5-2.5s6.5 1.1 6.5 2.5-2.9 2.5-6.5 2.5S3.5 6.4 3.5 5v10c0 1.4 2.9 2.5 6.5 2.5s6.5-1.1 6.5-2.5V5M3.5 10c0 1.4 2.9 2.5 6.5 2.5s6.5-1.1 6.5-2.5',
  people:
    'M7.5 9.3a3 3 0 1 0 0-6 3 3 0 0 0 0 6zM2 16.7c.3-3 2.5-4.7 5.5-4.7s5.2 1.7 5.5 4.7M13 3.6a3 3 0 0 1 0 5.5M15 12.3c1.8.6 2.9 2.1 3 4.4',
  payments:
    'M3.5 4.5h13a1 1 0 0 1 1 1v9a1 1 0 0 1-1 1h-13a1 1 0 0 1-1-1v-9a1 1 0 0 1 1-1zM2.5 8.2h15M5.5 12.3h3',
  messages:
    'M3.5 3.5h13a1 1 0 0 1 1 1v8a1 1 0 0 1-1 1H9.3l-3.8 3.3v-3.3h-2a1 1 0 0 1-1-1v-8a1 1 0 0 1 1-1zM6 7h8M6 10h5',
  chains:
    'M8.3 11.7a3.3 3.3 0 0 0 4.7 0l3-3A3.3 3.3 0 0 0 11.3 4l-1 1M11.7 8.3a3.3 3.3 0 0 0-4.7 0l-3 3A3.3 3.3 0 0 0 8.7 16l1-1',
  operation: 'M2 10.5h3.4L8 3.5l4 13 2.6-6H18',
  settings:
    'M3 6h7M14 6h3M3 14h3M10 14h7M12 8a2 2 0 1 0 0-4 2 2 0 0 0 0 4zM8 16a2 2 0 1 0 0-4 2 2 0 0 0 0 4z',
  more: 'M4.5 10h.01M10 10h.01M15.5 10h.01',
  search: 'M9 14.5a5.5 5.5 0 1 0 0-11 5.5 5.5 0 0 0 0 11zM13 13l4 4',
}

/** A drawing beside a word, which says the same. */
export const Icon = ({ of: name }: { of: keyof typeof LINES }) => (
  <svg class="icon" viewBox="0 0 20 20" aria-hidden="true">
    <path d={LINES[name]} />
  </svg>
)

/** The mark of Sixwire, which is also the icon of the page: style/icon.svg. */
export const Mark = () => (
  <img class="brand" src={document.querySelector<HTMLLinkElement>('link[rel=icon]')?.href} alt="" />
)
