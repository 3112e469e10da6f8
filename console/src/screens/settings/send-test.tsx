import { SendTest } from '../messages/send-test.tsx'

/** The dialog of the messages, in a script of its own. */
export default function SettingsTest({ close }: { close: () => void }) {
  return <SendTest close={close} sent={() => undefined} />
}
