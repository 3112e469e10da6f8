import { Dialog } from '../../parts/dialog.tsx'
import { Field, Form } from '../../parts/form.tsx'
import { go, href } from '../../parts/router.tsx'
import { six } from '../../parts/session.ts'
import { changeSettings } from '../../parts/settings.ts'
import { LANGUAGE, optionsOf } from './template.ts'

const FIRST = '<p>Hello{{#name}} {{name}}{{/name}},</p>'

/** Adds a template of a mail, by its first text. */
export default function NewText({ close, again }: { close: () => void; again: () => void }) {
  return (
    <Dialog title="New template" close={close}>
      <Form
        submit="Add"
        send={async (value) => {
          const [name, language] = [value('name').trim(), value('language').trim()]
          const { templates } = await six.call('GET /messaging/templates', {})
          if (templates.some((one) => one.name === name))
            throw new Error(`There is a template ${name} already: add a language to it.`)
          const text = { subject: value('subject'), html: FIRST, text: '' }
          await changeSettings(optionsOf(name, language, text))
          close()
          again()
          go(href(['templates', name], { language }))
        }}
        cancel={close}
      >
        <Field
          name="name"
          label="Name"
          hint="Lowercase letters, digits and -: what POST /messaging/email/template takes."
          pattern="[a-z0-9\-]+"
          maxLength={100}
          required
          autoFocus
        />
        <Field name="language" label="Language" defaultValue="en" pattern={LANGUAGE} required />
        <Field name="subject" label="Subject" maxLength={300} required />
      </Form>
    </Dialog>
  )
}
