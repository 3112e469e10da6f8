import { Dialog } from '../../parts/dialog.tsx'
import { Field, Form } from '../../parts/form.tsx'
import { setQuery } from '../../parts/router.tsx'
import { LANGUAGE } from './template.ts'

/** Opens the form of a text in a language that the template has none in. */
export default function NewLanguage({ close }: { close: () => void }) {
  return (
    <Dialog title="Add a language" close={close}>
      <Form
        submit="Write the text"
        send={async (value) => {
          setQuery({ language: value('tag').trim() })
          close()
        }}
        cancel={close}
      >
        <Field
          name="tag"
          label="Language"
          hint="Its tag: de, pt-BR, zh-Hant. The text begins as that of the default language."
          pattern={LANGUAGE}
          maxLength={20}
          required
          autoFocus
        />
      </Form>
    </Dialog>
  )
}
