import { confirm } from '../../parts/dialog.tsx'
import { Field, Form } from '../../parts/form.tsx'
import { Show, useLoad } from '../../parts/load.tsx'
import { Owner } from '../../parts/owner.tsx'
import { canWrite, six } from '../../parts/session.ts'
import { Text, Time } from '../../parts/text.tsx'

const SHOWN = 100

/** What the staff has written down about a user. */
export function UserNotes({ id }: { id: string }) {
  const params = { id }
  const loaded = useLoad(
    (signal) => six.call('GET /auth/users/:id/notes', { params, query: { limit: SHOWN }, signal }),
    [id],
  )
  const remove = (noteId: string) =>
    confirm({
      title: 'Delete this note?',
      verb: 'Delete',
      async act() {
        await six.call('DELETE /auth/users/:id/notes/:noteId', { params: { id, noteId } })
        loaded.again()
      },
    })
  return (
    <>
      <Form
        send={(value) => six.call('POST /auth/users/:id/notes', { params, body: { text: value('text') } })}
        submit="Add"
        disabled={!canWrite.value}
        done={(form) => {
          form.reset()
          loaded.again()
        }}
      >
        <Field
          name="text"
          label="New note"
          lines={3}
          maxLength={5_000}
          required
          hint="For the staff only. It is in the export of the user’s data, and deleted with the account."
        />
      </Form>
      <Show of={loaded}>
        {({ notes }) => (
          <ol class="happened">
            {notes.map(({ _id, text, author, createdAt }) => (
              <li key={_id}>
                <Time at={createdAt} />
                <div>
                  <p class="note">
                    <Text>{text}</Text>
                  </p>
                  <p class="soft">
                    {author !== undefined && <Owner of={author} />}{' '}
                    <button
                      type="button"
                      class="small"
                      disabled={!canWrite.value}
                      onClick={() => remove(_id)}
                    >
                      Delete…
                    </button>
                  </p>
                </div>
              </li>
            ))}
          </ol>
        )}
      </Show>
    </>
  )
}
