// What a person must be able to see of a page, by WCAG 2.2: https://www.w3.org/TR/WCAG22/
import type { Frame, Page } from 'playwright-core'

/** What is wrong with a page, one line each, and how many texts or controls were looked at. */
export type Seen = { faults: string[]; count: number }

// Runs in the browser. A ground is put together from all that lies behind it, down to the canvas of the colour scheme.
const COLOURS = `
  const parts = (colour) => {
    const found = /^rgba?\\(([\\d.]+), ([\\d.]+), ([\\d.]+)(?:, ([\\d.]+))?\\)$/.exec(colour)
    if (!found) throw new Error('cannot read the colour ' + colour)
    return found.slice(1).map((one) => Number(one ?? 1))
  }
  const mixed = ([r, g, b, alpha], ground) => [r, g, b].map((part, at) => part * alpha + ground[at] * (1 - alpha))
  const styleOf = (element, pseudo) => getComputedStyle(element, pseudo)
  const canvas = (() => {
    const probe = document.createElement('i')
    probe.style.backgroundColor = 'Canvas'
    document.documentElement.append(probe)
    const colour = parts(styleOf(probe).backgroundColor)
    probe.remove()
    return colour.slice(0, 3)
  })()
  const groundOf = (element) =>
    element ? mixed(parts(styleOf(element).backgroundColor), groundOf(element.parentElement)) : canvas
  const opacityOf = (element) =>
    element ? Number(styleOf(element).opacity) * opacityOf(element.parentElement) : 1
  // https://www.w3.org/TR/WCAG22/#dfn-relative-luminance
  const luminance = (colour) => {
    const [r, g, b] = colour.map((part) =>
      part / 255 <= 0.04045 ? part / 255 / 12.92 : ((part / 255 + 0.055) / 1.055) ** 2.4)
    return 0.2126 * r + 0.7152 * g + 0.0722 * b
  }
  const contrast = (one, other) => {
    const [dark, light] = [luminance(one), luminance(other)].sort((a, b) => a - b)
    return (light + 0.05) / (dark + 0.05)
  }
  const isSeen = (element) =>
    element.checkVisibility({ visibilityProperty: true }) && element.getClientRects().length > 0
`

const TEXTS = `(() => {
  ${COLOURS}
  const texts = []
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement
    const text = walker.currentNode.data.trim()
    if (text !== '' && isSeen(element)) texts.push([element, text])
  }
  for (const field of document.querySelectorAll('input:not([type="checkbox"]), textarea')) {
    if (isSeen(field) && field.value !== '') texts.push([field, field.value])
    if (isSeen(field) && field.value === '' && field.placeholder) texts.push([field, field.placeholder, '::placeholder'])
  }
  // What cannot be used may be pale: https://www.w3.org/TR/WCAG22/#contrast-minimum
  const looked = texts.filter(([element]) => !element.matches('script, style, noscript, :disabled'))
  const faults = looked.flatMap(([element, text, pseudo]) => {
    const ground = groundOf(element)
    const [r, g, b, alpha] = parts(styleOf(element, pseudo).color)
    const ratio = contrast(mixed([r, g, b, alpha * opacityOf(element)], ground), ground)
    return ratio >= 4.5 ? [] : [JSON.stringify(text.slice(0, 40)) + ' has a contrast of ' + ratio.toFixed(2)]
  })
  return { faults, count: looked.length }
})()`

/** Text whose colour is too near to that of its ground: a contrast under 4.5 (success criterion 1.4.3). */
export const hardToRead = (page: Page | Frame): Promise<Seen> => page.evaluate<Seen>(TEXTS)

/** How light the ground of a page is: 0 is black, 1 is white. */
export const groundLightness = (page: Page): Promise<number> =>
  page.evaluate<number>(`(() => { ${COLOURS} return luminance(groundOf(document.body)) })()`)

const CONTROLS = `(() => {
  ${COLOURS}
  const within = document.querySelector('dialog[open]') ?? document
  // Of a list of tabs and of radio buttons the Tab key reaches one, and arrow keys the others.
  const controls = [...within.querySelectorAll(
    'a[href], button:not([role="tab"][aria-selected="false"]), input:not([type="radio"]:not(:checked)), select, textarea, summary, [tabindex="0"]')]
  const notReached = new Set(controls.filter((one) => !one.disabled && isSeen(one)))
  // By the event: out of a frame, which may be a process of its own, the focus comes after the key was handled.
  globalThis.forgetReached?.()
  const forget = ({ target }) => notReached.delete(target)
  addEventListener('focusin', forget)
  Object.assign(globalThis, {
    // A page that goes on working may have replaced some.
    notReached: () => [...notReached].filter((one) => one.isConnected),
    forgetReached: () => removeEventListener('focusin', forget),
  })
  document.activeElement.blur()
  return notReached.size
})()`

// A ring inside of a control lies on the control's own ground, one outside on that of what is around.
const FOCUSED = `(() => {
  ${COLOURS}
  const element = document.activeElement
  const left = globalThis.notReached().length
  const nameOf = (one) => one.localName + ' ' + JSON.stringify(
    (one.getAttribute('aria-label') || one.innerText || one.name || one.id).trim().slice(0, 40))
  if (element === document.body || element.localName === 'iframe') return { left }
  const { outlineStyle, outlineWidth, outlineOffset, outlineColor } = styleOf(element)
  const [width, offset] = [parseFloat(outlineWidth), parseFloat(outlineOffset)]
  const says = (text) => ({ left, fault: nameOf(element) + text })
  if (outlineStyle === 'none' || width < 2) return says(' shows no focus')
  const ground = groundOf(offset < 0 ? element : element.parentElement)
  const ratio = contrast(mixed(parts(outlineColor), ground), ground)
  if (ratio < 3) return says(' shows its focus with a contrast of ' + ratio.toFixed(2))
  const box = element.getBoundingClientRect()
  const grown = Math.max(0, width + offset)
  const isWithin = (edge) =>
    box.left - grown >= edge.left - 0.5 && box.right + grown <= edge.right + 0.5 &&
    // What is longer than the window is seen in part.
    (box.height > innerHeight / 2 || (box.top - grown >= edge.top - 0.5 && box.bottom + grown <= edge.bottom + 0.5))
  if (!isWithin({ left: 0, top: 0, right: innerWidth, bottom: innerHeight })) return says(' has the focus outside of the window')
  for (let around = element.parentElement; around && around !== document.body; around = around.parentElement)
    if (styleOf(around).overflow !== 'visible' && !isWithin(around.getBoundingClientRect()))
      return says(' has a focus that is cut off')
  return { left }
})()`

type Focused = { left: number; fault?: string }

const LOOKS = 5
const LOOK_MS = 100

/**
 * Controls that the Tab key does not reach, and those whose focus cannot be seen: no ring, one with a contrast under 3,
 * or one that is cut off (success criteria 2.1.1, 2.4.7 and 1.4.11).
 */
export async function hardToReach(page: Page): Promise<Seen> {
  const count = await page.evaluate<number>(CONTROLS)
  const faults: string[] = []
  let left = count
  // A frame and the window itself are stops as well.
  for (let presses = 0; left > 0 && presses < 2 * count + 20; presses++) {
    await page.keyboard.press('Tab')
    let at = await page.evaluate<Focused>(FOCUSED)
    // The page may still be scrolling to it.
    for (let looks = 1; at.fault !== undefined && looks < LOOKS; looks++) {
      await page.waitForTimeout(LOOK_MS)
      at = await page.evaluate<Focused>(FOCUSED)
    }
    if (at.fault !== undefined && !faults.includes(at.fault)) faults.push(at.fault)
    left = at.left
  }
  if (left === 0) return { faults, count }
  const names = await page.evaluate<string[]>(
    'globalThis.notReached().map((one) => one.outerHTML.slice(0, 80) + " is not reached by Tab")',
  )
  return { faults: [...faults, ...names], count }
}
