// GSM 03.38: the characters that a text message encodes in 7 bits, and those that need two of these.
const BASIC = new Set(
  '@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞÆæßÉ !"#¤%&\'()*+,-./0123456789:;<=>?¡ABCDEFGHIJKLMNOPQRSTUVWXYZÄÖÑÜ§¿' +
    'abcdefghijklmnopqrstuvwxyzäöñüà',
)
const EXTENDED = new Set('\f^{}\\[~]|€')

/**
 * The number of text messages for a body: 160 characters of GSM 03.38 or 70 UTF-16 units in one, 153 or 67 in several.
 *
 * @see https://www.twilio.com/docs/glossary/what-sms-character-limit
 */
export function segmentsOf(body: string): number {
  const characters = Array.from(body)
  const isGsm = characters.every((one) => BASIC.has(one) || EXTENDED.has(one))
  const length = isGsm ? characters.reduce((sum, one) => sum + (EXTENDED.has(one) ? 2 : 1), 0) : body.length
  const [alone, inSeveral] = isGsm ? [160, 153] : [70, 67]
  return length <= alone ? 1 : Math.ceil(length / inSeveral)
}
