import { useId, useState } from 'preact/hooks'

import { serverUrl } from '../../parts/session.ts'

const WIDTHS = [
  ['desk', 'Desktop'],
  ['phone', 'Phone'],
] as const
const SCHEMES = [
  ['light', 'Light'],
  ['dark', 'Dark'],
] as const

/**
 * The HTML of a mail, in light or dark and as wide as a phone. It is a page of the server's own with a policy under which
 * nothing runs or is loaded from elsewhere, in a frame that may do nothing at all.
 *
 * @param props.page the path that the server answered
 */
export function MailFrame({ page, title }: { page: string; title: string }) {
  const [width, setWidth] = useState<string>('desk')
  const [scheme, setScheme] = useState<string>('light')
  return (
    <div class="mail-frame">
      <div class="buttons">
        <Switch label="Width" options={WIDTHS} value={width} choose={setWidth} />
        <Switch label="Colours" options={SCHEMES} value={scheme} choose={setScheme} />
      </div>
      <iframe
        class={`${width} ${scheme}`}
        sandbox=""
        src={`${serverUrl}${page}&scheme=${scheme}`}
        title={title}
      />
      <p class="hint">Links do not work here, and images of other servers are not loaded.</p>
    </div>
  )
}

/** One of a few choices, all in sight. */
function Switch(props: {
  label: string
  options: readonly (readonly [value: string, title: string])[]
  value: string
  choose: (value: string) => void
}) {
  const name = useId()
  return (
    <fieldset class="switch">
      <legend class="quiet">{props.label}</legend>
      {props.options.map(([value, title]) => (
        <label key={value}>
          <input
            type="radio"
            name={name}
            checked={value === props.value}
            onChange={() => props.choose(value)}
          />
          {title}
        </label>
      ))}
    </fieldset>
  )
}
