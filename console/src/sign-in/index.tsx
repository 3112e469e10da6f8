import { useState } from 'preact/hooks'

import { isError, type ChallengeDetails } from '../../../client/src/index.ts'
import { Field, Form } from '../parts/form.tsx'
import { installation } from '../parts/installation.ts'
import { messageOf, useLoad } from '../parts/load.tsx'
import { go, place } from '../parts/router.tsx'
import { anonymous, createSignIn, serverUrl, type SignInWith } from '../parts/session.ts'
import { Mark } from '../icons.tsx'
import { FirstAccount } from './first-account.tsx'
import { SecondFactor } from './second-factor.tsx'

/** The page before anybody is signed in. */
export function SignInPage() {
  const { screen, query } = place.value
  const isFirstAdmin = screen === 'first-admin'
  const isFirst = isFirstAdmin || installation.value?.firstRun === true
  return (
    <main class="sign-in">
      <header>
        <Mark />
        <h1>{installation.value?.name}</h1>
        <p class="soft">{isFirst ? 'Create the first administrator' : 'Sign in to the console'}</p>
      </header>
      {isFirst ? <FirstAccount token={isFirstAdmin ? (query.get('token') ?? '') : undefined} /> : <SignIn />}
    </main>
  )
}

type Step = { at: 'password' } | { at: 'code'; email: string } | { at: 'factor'; challenge: ChallengeDetails }

/** Every way to sign in that the server offers. A second factor is asked for if the account has one. */
export function SignIn({ email }: { email?: string | undefined }) {
  const [signIn] = useState(createSignIn)
  const [step, setStep] = useState<Step>({ at: 'password' })
  const [fault, setFault] = useState<string | undefined>(faultOfProvider)

  /** Signs in and begins the session, or goes on to the second factor. */
  async function complete(act: () => Promise<unknown>): Promise<void> {
    setFault(undefined)
    try {
      await act()
      await signIn.begin()
    } catch (error) {
      if (!isError(error, 'SECOND_FACTOR_REQUIRED')) throw error
      setStep({ at: 'factor', challenge: error.details })
    }
  }
  const tryIt = (act: () => Promise<unknown>) =>
    void complete(act).catch((error: unknown) => setFault(messageOf(error)))

  useLoad(async () => returnFromProvider(signIn, tryIt, setFault), [])

  return (
    <div class="ways">
      {fault !== undefined && (
        <p class="notice bad" role="alert">
          {fault}
        </p>
      )}
      {step.at === 'factor' && (
        <SecondFactor
          challenge={step.challenge}
          prove={(proof) => complete(() => signIn.auth.secondFactor(proof))}
          back={() => setStep({ at: 'password' })}
        />
      )}
      {step.at === 'code' && (
        <Code
          email={step.email}
          verify={(code) => complete(() => signIn.auth.verifyCode({ email: step.email, code }))}
          back={() => setStep({ at: 'password' })}
        />
      )}
      {step.at === 'password' && (
        <>
          <Password
            email={email}
            send={(email, password) => complete(() => signIn.auth.signIn({ email, password }))}
            sendCode={async (email) => {
              await signIn.auth.sendCode({ email })
              setStep({ at: 'code', email })
            }}
          />
          <Others signIn={signIn} tryIt={tryIt} canLeave={email === undefined} />
        </>
      )}
    </div>
  )
}

const FAULTS: Readonly<Record<string, string>> = {
  access_denied: 'Access was denied at the identity provider.',
  email_taken:
    'There is an account with this address that is not connected to the provider: sign in another way.',
}

/** What went wrong at an identity provider, from which the browser has come back. */
function faultOfProvider(): string | undefined {
  const error = place.value.screen === 'sign-in' ? place.value.query.get('error') : null
  return error === null || error === 'second_factor_required'
    ? undefined
    : (FAULTS[error] ?? `The sign-in at the identity provider failed (${error}).`)
}

/** Kept in this tab while the reader is at an identity provider. */
const AT_PROVIDER = 'sixwire console: at an identity provider'

/**
 * Goes on with what an identity provider's sign-in has brought, and takes it out of the address. A sign-in that did not begin
 * in this tab is refused: a link of a stranger would sign the reader in to the stranger's account.
 */
function returnFromProvider(
  signIn: SignInWith,
  tryIt: (act: () => Promise<unknown>) => void,
  refuse: (fault: string) => void,
): void {
  if (place.value.screen !== 'sign-in') return
  const { token, refreshToken, challenge, factors } = Object.fromEntries(place.value.query)
  const beganHere = sessionStorage.getItem(AT_PROVIDER) !== null
  sessionStorage.removeItem(AT_PROVIDER)
  go('#/', { replace: true })
  if (!beganHere && (token ?? challenge) !== undefined)
    refuse('This sign-in did not begin in this tab, so it is not used. Sign in here.')
  else if (token && refreshToken) tryIt(() => signIn.auth.setSession({ token, refreshToken }))
  else if (challenge) tryIt(() => signIn.auth.setSession({ challenge, factors }))
}

function Password(props: {
  email: string | undefined
  send: (email: string, password: string) => Promise<void>
  sendCode: (email: string) => Promise<void>
}) {
  const [isCode, setCode] = useState(false)
  const [email, setEmail] = useState(props.email ?? '')
  return (
    <Form
      key={String(isCode)}
      label="Sign in"
      submit={isCode ? 'Send a code' : 'Sign in'}
      send={async (value) =>
        isCode ? props.sendCode(value('email')) : props.send(value('email'), value('password'))
      }
      buttons={
        <button type="button" class="link" onClick={() => setCode(!isCode)}>
          {isCode ? 'Use a password' : 'Email me a code instead'}
        </button>
      }
    >
      <Field
        name="email"
        label="Email address"
        type="email"
        autoComplete="username webauthn"
        defaultValue={email}
        onText={setEmail}
        required
        autoFocus={email === ''}
      />
      {!isCode && (
        <Field
          name="password"
          label="Password"
          type="password"
          autoComplete="current-password"
          required
          autoFocus={email !== ''}
        />
      )}
    </Form>
  )
}

const Code = (props: { email: string; verify: (code: string) => Promise<void>; back: () => void }) => (
  <Form
    label="Sign in with a code"
    submit="Sign in"
    send={async (value) => props.verify(value('code'))}
    buttons={
      <button type="button" class="link" onClick={props.back}>
        Back
      </button>
    }
  >
    <p>
      If there is an account for <strong>{props.email}</strong>, it gets a mail with a code of six digits.
    </p>
    <Field name="code" label="Code" inputMode="numeric" autoComplete="one-time-code" required autoFocus />
  </Form>
)

/** Passkeys and identity providers. A provider's page takes the place of this one, which would lose what was typed. */
function Others(props: {
  signIn: SignInWith
  tryIt: (act: () => Promise<unknown>) => void
  canLeave: boolean
}) {
  const { signIn, tryIt, canLeave } = props
  const providerList = useLoad(async (signal) => anonymous.call('GET /auth/providers', { signal }), [])
  const providers = canLeave ? (providerList.value?.providers ?? []) : []
  const hasPasskeys = signIn.auth.passkeys.isSupported()
  if (!hasPasskeys && providers.length === 0) return null
  return (
    <div class="others">
      {hasPasskeys && (
        <button type="button" onClick={() => tryIt(() => signIn.auth.passkeys.signIn())}>
          Use a passkey
        </button>
      )}
      {providers.map(({ name, label }) => (
        <a
          key={name}
          class="button"
          href={`${serverUrl}/auth/providers/${encodeURIComponent(name)}?page=console`}
          onClick={() => sessionStorage.setItem(AT_PROVIDER, name)}
        >
          Sign in with {label}
        </a>
      ))}
    </div>
  )
}
