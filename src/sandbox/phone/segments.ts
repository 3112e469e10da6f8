// GSM 03.38: the characters that a text message holds in 7 bits, and those that take two of them.
const BASIC = new Set(
  '@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞÆæßÉ !"#¤%&\'()*+,-./0123456789:;<=>?¡ABCDEFGHIJKLMNOPQRSTUVWXYZÄÖÑÜ§¿' +
    'abcdefghijklmnopqrstuvwxyzäöñüà',
)
const EXTENDED = new Set('\f^{}\\[~]|€')

/**
 * How many text messages a body is sent in: 160 characters of GSM 03.38 or 70 UTF-16 units, and in several 153 or 67.
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
