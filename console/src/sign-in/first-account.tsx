import { Field, Form } from '../parts/form.tsx'
import { installation } from '../parts/installation.ts'
import { go } from '../parts/router.tsx'
import { anonymous, begin } from '../parts/session.ts'

/** The first account becomes the administrator. In production it needs the token of the link that the start has printed. */
export const FirstAccount = ({ token }: { token: string | undefined }) => (
  <Form
    label="First administrator"
    submit="Create the account"
    send={async (value) => {
      const account = { email: value('email'), password: value('password') }
      const { refreshToken } =
        token === undefined
          ? await anonymous.call('POST /auth/register', { body: account })
          : await anonymous.call('POST /auth/first-admin', { body: { token, ...account } })
      await begin(refreshToken)
      if (installation.value) installation.value = { ...installation.value, firstRun: false }
      go('#/', { replace: true })
    }}
  >
    <Field name="email" label="Email address" type="email" autoComplete="username" required autoFocus />
    <Field
      name="password"
      label="Password"
      type="password"
      autoComplete="new-password"
      hint="Several words are better than one complicated word."
      required
    />
  </Form>
)
