import { signal } from '@preact/signals'
import { useEffect, useRef, useState } from 'preact/hooks'

import { confirm } from '../parts/dialog.tsx'
import { nameToType } from '../parts/installation-name.tsx'
import { messageOf, Show, useLoad } from '../parts/load.tsx'
import { canWrite } from '../parts/session.ts'
import { Badge, Copy, Json, Text } from '../parts/text.tsx'
import { announce } from '../parts/toast.tsx'
import { addressOf, type SampleCall } from './call.ts'
import { languages } from './languages.ts'
import { sendCall, type SentAnswer } from './send-call.ts'

const STORED = 'sixwire console: language'
const language = signal(localStorage.getItem(STORED) ?? 'curl')

function choose(name: string): void {
  language.value = name
  try {
    localStorage.setItem(STORED, name)
  } catch {
    // The storage is full or switched off: the choice holds until the page is left.
  }
}

/**
 * A call as code in the language that the reader has chosen, with a button that sends it.
 *
 * @param props.done called after a call that was answered with a success
 */
export function CallView({ call, done }: { call: SampleCall; done?: (answer: SentAnswer) => void }) {
  const { method, baseUrl } = call
  return (
    <div class="sample">
      <p class="sample-route">
        <Badge tone={method === 'GET' ? 'good' : method === 'DELETE' ? 'bad' : 'warning'}>{method}</Badge>{' '}
        <code>
          <Text>{addressOf({ ...call, baseUrl: '' })}</Text>
        </code>
      </p>
      <Code call={call} />
      {call.answer === 'page' ? (
        <p class="soft">It leads a browser to another page, so it is not sent from here.</p>
      ) : (
        <TryIt key={`${method} ${baseUrl}${call.path}`} call={call} done={done} />
      )}
    </div>
  )
}

function Code({ call }: { call: SampleCall }) {
  const chosen = languages.find(({ name }) => name === language.value) ?? languages[0]!
  const loaded = useLoad(async () => ({ of: chosen, write: (await chosen.load()).default }), [chosen])
  const text = loaded.value?.write(call) ?? ''
  return (
    <>
      <div class="languages">
        <div role="group" aria-label="Language">
          {languages.map((one) => (
            <button
              key={one.name}
              type="button"
              class="small"
              aria-pressed={one === chosen}
              onClick={() => choose(one.name)}
            >
              {one.title}
            </button>
          ))}
        </div>
        <Copy text={text} what="the code" />
      </div>
      <Show of={loaded}>
        {({ of }) => (
          <pre class="json" tabIndex={0} aria-label={`Code for ${of.title}`}>
            <Text>{text}</Text>
          </pre>
        )}
      </Show>
    </>
  )
}

type TryProps = { call: SampleCall; done: ((answer: SentAnswer) => void) | undefined }

/** Sends the call, after a question if it may change something, and shows what came back. */
function TryIt({ call, done }: TryProps) {
  const [answer, setAnswer] = useState<SentAnswer>()
  const [error, setError] = useState<unknown>()
  const [file, setFile] = useState<File>()
  const running = useRef<AbortController>(undefined)
  const [isRunning, setRunning] = useState(false)
  useEffect(() => () => running.current?.abort(), [])
  const isWrite = call.method !== 'GET'

  async function send(): Promise<void> {
    running.current?.abort()
    const controller = new AbortController()
    running.current = controller
    setRunning(true)
    setError(undefined)
    setAnswer(undefined)
    try {
      const answered = await sendCall(call, file, controller.signal, setAnswer)
      setAnswer(answered)
      announce(`The server answered ${answered.status}`)
      if (answered.status < 400) done?.(answered)
    } catch (thrown) {
      if (!controller.signal.aborted) setError(thrown)
    } finally {
      if (running.current === controller) setRunning(false)
    }
  }
  function ask(): void {
    if (!isWrite) return void send()
    const toType = call.method === 'DELETE' ? nameToType() : undefined
    confirm({
      title: `Send ${call.method} ${addressOf({ ...call, baseUrl: '' })}?`,
      verb: 'Send',
      children: <p>It is sent to this server, as you, and does what it says.</p>,
      ...(toType !== undefined && { type: toType }),
      act: async () => void send(),
    })
  }
  return (
    <>
      {call.file && (
        <label class="field">
          File
          <input
            type="file"
            disabled={!canWrite.value}
            onChange={(event) => setFile(event.currentTarget.files?.[0])}
          />
        </label>
      )}
      <div class="buttons">
        <button
          type="button"
          class="primary"
          disabled={isRunning || (isWrite && !canWrite.value) || (call.file !== undefined && !file)}
          onClick={ask}
        >
          Try it
        </button>
        {isRunning && (
          <button
            type="button"
            onClick={() => {
              running.current?.abort()
            }}
          >
            Stop
          </button>
        )}
        {answer && (
          <span role="status">
            <Badge tone={answer.status < 400 ? 'good' : 'bad'}>{answer.status}</Badge>{' '}
            <span class="soft">{answer.milliseconds} ms</span>
          </span>
        )}
      </div>
      {error !== undefined && (
        <p class="fault" role="alert">
          {messageOf(error)}
        </p>
      )}
      {answer && <Answer of={answer} />}
    </>
  )
}

const Answer = ({ of: { json, text } }: { of: SentAnswer }) =>
  json !== undefined ? (
    <Json value={json} label="The answer" />
  ) : text ? (
    <pre class="json" tabIndex={0} aria-label="The answer">
      <Text>{text}</Text>
    </pre>
  ) : (
    <p class="soft">The answer has no body.</p>
  )
