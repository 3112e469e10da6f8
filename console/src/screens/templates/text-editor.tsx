import { useState } from 'preact/hooks'

import { confirm } from '../../parts/dialog.tsx'
import { Field, Form } from '../../parts/form.tsx'
import { canWrite } from '../../parts/session.ts'
import { changeSettings } from '../../parts/settings.ts'
import { toast } from '../../parts/toast.tsx'
import { Preview } from './preview.tsx'
import { optionOf, optionsOf, type ShownTemplate, type ShownText, type Written } from './template.ts'

/** The form of a text, and how it looks while it is written. */
export function TextEditor({
  template,
  language,
  text,
  again,
}: {
  template: ShownTemplate
  language: string
  /** Undefined: it is new, and begins with that of another language. */
  text: ShownText | undefined
  again: () => void
}) {
  const { name, channel, texts } = template
  const { subject = '', html = '', text: plain = '' } = text ?? texts[0] ?? {}
  const stored: Written = { subject, html, text: plain }
  const [written, setWritten] = useState(stored)
  const isLocked = !canWrite.value || text?.source === 'application'
  const isChanged = JSON.stringify(written) !== JSON.stringify(stored)
  const part = (of: keyof Written, label: string, more: { lines?: number; hint?: string } = {}) => (
    <Field
      name={`values/${optionOf(name, language, of)}`}
      label={label}
      defaultValue={stored[of]}
      disabled={isLocked}
      onText={(value) => setWritten((before) => ({ ...before, [of]: value }))}
      {...more}
    />
  )
  const remove = () =>
    confirm({
      title: `Remove this text of ${name}?`,
      children: <p>{REMOVED(template, language)}</p>,
      verb: 'Remove',
      act: async () => {
        await changeSettings(optionsOf(name, language, null))
        toast('The text is removed.')
        again()
      },
    })
  return (
    <>
      <Form
        label="The text"
        submit="Save"
        disabled={isLocked}
        send={async () => {
          if (text && !isChanged) return toast('Nothing was changed.')
          await changeSettings(optionsOf(name, language, written))
          toast('Saved, and in force.')
          again()
        }}
        buttons={
          text?.source === 'console' && (
            <button type="button" disabled={isLocked} onClick={remove}>
              Remove this text…
            </button>
          )
        }
      >
        {channel === 'email' && part('subject', 'Subject')}
        {channel === 'email' && part('html', 'HTML', { lines: 12 })}
        {part('text', 'Text', {
          lines: channel === 'email' ? 2 : 5,
          ...(channel === 'email' && {
            hint: 'For readers without HTML. Without it, it is made from the HTML.',
          }),
        })}
      </Form>
      <Preview template={template} language={language} draft={isChanged || !text ? written : undefined} />
    </>
  )
}

const REMOVED = ({ texts }: ShownTemplate, language: string): string =>
  language === 'en' || texts.length > 1
    ? 'What there is without it is sent: the built-in text, or that of another language.'
    : 'The template has no other text: it is removed as a whole.'
