import { openLate } from '../../parts/late.tsx'
import { Choice } from '../../parts/form.tsx'
import { Show, useLoad } from '../../parts/load.tsx'
import { queryValue, setQuery } from '../../parts/router.tsx'
import { canWrite, six } from '../../parts/session.ts'
import { Facts, Text } from '../../parts/text.tsx'
import { languageName, type ShownTemplate, type ShownText } from './template.ts'
import { TextEditor } from './text-editor.tsx'

/** A template in one language: its text, how it looks with values, and what is done with it. */
export function TemplatePane({ name, again }: { name: string; again: () => void }) {
  const loaded = useLoad(
    (signal) => six.call('GET /messaging/templates/:name', { params: { name }, signal }),
    [name],
  )
  const reload = () => {
    loaded.again()
    again()
  }
  return <Show of={loaded}>{(template) => <TemplateTexts template={template} again={reload} />}</Show>
}

function TemplateTexts({ template, again }: { template: ShownTemplate; again: () => void }) {
  const { name, values, texts } = template
  const language = queryValue('language') ?? texts[0]?.language ?? 'en'
  const text = texts.find((one) => one.language === language)
  return (
    <>
      <h2 tabIndex={-1}>{name}</h2>
      <Facts
        of={[
          ['From', text ? FROM[text.source](text) : 'not saved yet'],
          [
            'Values',
            values.length === 0
              ? 'none'
              : values.map(({ name, isRequired }) => (
                  <span key={name}>
                    <code>{name}</code>
                    {isRequired ? '' : <span class="soft"> optional</span>}{' '}
                  </span>
                )),
          ],
        ]}
      />
      <div class="buttons">
        <Choice
          key={`${language} ${texts.length}`}
          name="language"
          label="Language"
          defaultValue={language}
          options={[...new Set([...texts.map((one) => one.language), language])].map((tag) => [
            tag,
            languageName(tag),
          ])}
          onChoice={(chosen) => setQuery({ language: chosen })}
        />
        <button
          type="button"
          disabled={!canWrite.value}
          onClick={() => openLate(() => import('./new-language.tsx'), {})}
        >
          Add a language
        </button>
      </div>
      {text?.error === undefined ? (
        <TextEditor
          // What is saved elsewhere, or by the form itself, is shown anew.
          key={`${language} ${JSON.stringify(text)}`}
          template={template}
          language={language}
          text={text}
          again={again}
        />
      ) : (
        <p class="notice bad" role="alert">
          <Text>{text.error}</Text>
        </p>
      )}
    </>
  )
}

const FROM: Readonly<Record<ShownText['source'], (text: ShownText) => string>> = {
  'built-in': () => 'built-in',
  application: ({ file }) => `${file} of the application: change it there`,
  console: () => 'the console',
}
