import { useState } from 'preact/hooks'

import { Choice, Field, Form } from '../../parts/form.tsx'
import { six } from '../../parts/session.ts'
import { Copy, Text } from '../../parts/text.tsx'
import { argumentOf, functionsOf, readAbi, STANDARDS, type AbiFunction } from './abi.ts'

const OWN = 'own'

/** Calls a function of a contract that changes nothing; its form is made of the ABI. */
export function ContractReader({ chains }: { chains: readonly string[] }) {
  const [kind, setKind] = useState(STANDARDS[0]!)
  const [abiText, setAbiText] = useState('')
  const [signature, setSignature] = useState('')
  const [result, setResult] = useState<string>()
  const { abi, functions, fault } = abiOf(kind, abiText)
  const method = functions.find((one) => one.signature === signature) ?? functions[0]

  async function read(value: (name: string) => string) {
    setResult(undefined)
    if (!method) throw new Error('Paste the ABI of the contract first.')
    const args = method.inputs.map(({ type }, at) => argumentOf(type, value(`args/${at}`)))
    const answer = await six.call('POST /onchain/contracts/read', {
      body: {
        address: value('address').trim(),
        chain: value('chain'),
        abi: abi as string,
        method: method.signature,
        args,
      },
    })
    setResult(answer.result)
  }
  return (
    <div class="call">
      <Form send={read} submit="Read" label="Read a contract">
        <div class="columns">
          <Choice name="chain" label="Chain" options={chains.map((name) => [name, name] as const)} />
          <Field name="address" label="Address of the contract" placeholder="0x…" required />
          <Choice
            name="kind"
            label="Interface"
            defaultValue={kind}
            options={[
              ...STANDARDS.map((name) => [name, name.replace('erc', 'ERC-')] as const),
              [OWN, 'Another ABI'],
            ]}
            onChoice={setKind}
          />
        </div>
        {kind === OWN && (
          <Field
            name="abi"
            label="ABI, as compilers write it in JSON"
            lines={5}
            onText={setAbiText}
            hint={fault && <span class="fault">{fault}</span>}
          />
        )}
        {method && (
          <>
            <Choice
              key={kind + functions.length}
              name="method"
              label="Function"
              options={functions.map((one) => [one.signature, one.signature] as const)}
              onChoice={setSignature}
            />
            {method.inputs.map((input, at) => (
              <Argument key={`${method.signature}${at}`} at={at} input={input} />
            ))}
          </>
        )}
      </Form>
      {result !== undefined && (
        <div class="field">
          <span class="buttons">
            <strong>Result</strong> <Copy text={result} what="the result" />
          </span>
          <output aria-live="polite">
            <Text>{result}</Text>
          </output>
        </div>
      )}
    </div>
  )
}

function Argument({ at, input: { name, type } }: { at: number; input: AbiFunction['inputs'][number] }) {
  const label = name ? `${name}, ${type}` : type
  if (type === 'bool')
    return (
      <Choice
        name={`args/${at}`}
        label={label}
        options={[
          ['true', 'true'],
          ['false', 'false'],
        ]}
      />
    )
  const isJson = /[)\]]$/.test(type)
  return (
    <Field
      name={`args/${at}`}
      label={label}
      {...(isJson && { lines: 2, hint: 'As JSON: a list, integers as strings.' })}
      required={type !== 'string'}
    />
  )
}

function abiOf(kind: string, text: string) {
  if (kind !== OWN) return { abi: kind, functions: functionsOf(kind), fault: undefined }
  if (text.trim() === '') return { abi: [], functions: [], fault: undefined }
  try {
    return { ...readAbi(text), fault: undefined }
  } catch (error) {
    return {
      abi: [],
      functions: [],
      fault: error instanceof SyntaxError ? 'This is not JSON yet.' : (error as Error).message,
    }
  }
}
