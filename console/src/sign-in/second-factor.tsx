import { useState } from 'preact/hooks'

import type { ChallengeDetails, SecondFactorProof } from '../../../client/src/index.ts'
import { Field, Form } from '../parts/form.tsx'
import { messageOf } from '../parts/load.tsx'

/** Asks for the second factor of an account, of those that it has. */
export function SecondFactor(props: {
  challenge: ChallengeDetails
  prove: (proof: SecondFactorProof) => Promise<void>
  back: () => void
}) {
  const { factors } = props.challenge
  const [isRecovery, setRecovery] = useState(!factors.includes('totp'))
  const [fault, setFault] = useState<string>()
  const passkey = () =>
    void props.prove({ passkey: true }).catch((error: unknown) => setFault(messageOf(error)))
  return (
    <div class="ways">
      {factors.includes('passkey') && (
        <button type="button" class="primary" onClick={passkey}>
          Use your passkey
        </button>
      )}
      {fault !== undefined && (
        <p class="notice bad" role="alert">
          {fault}
        </p>
      )}
      <Form
        key={String(isRecovery)}
        label="Second factor"
        submit="Continue"
        send={async (value) =>
          props.prove(isRecovery ? { recoveryCode: value('proof') } : { code: value('proof') })
        }
        buttons={
          <>
            {factors.includes('totp') && (
              <button type="button" class="link" onClick={() => setRecovery(!isRecovery)}>
                {isRecovery ? 'Use the authenticator app' : 'Use a recovery code'}
              </button>
            )}
            <button type="button" class="link" onClick={props.back}>
              Back
            </button>
          </>
        }
      >
        <Field
          name="proof"
          label={isRecovery ? 'Recovery code' : 'Code of the authenticator app'}
          inputMode={isRecovery ? 'text' : 'numeric'}
          autoComplete="one-time-code"
          required
          autoFocus={!factors.includes('passkey')}
        />
      </Form>
    </div>
  )
}
