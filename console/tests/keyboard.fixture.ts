// Steps in the console by keyboard alone.
import type { Page } from 'playwright-core'

const TABS_MAX = 80

/** What has the focus is called: its label, or its text. */
const focused = (page: Page): Promise<string> =>
  page.evaluate<string>(
    `{
      const element = document.activeElement
      const label = element.labels?.[0]
      element.getAttribute('aria-label') ?? (label ? label.textContent : element.textContent)
    }`,
  )

/** Presses Tab until something of this name has the focus. */
export async function tabTo(page: Page, name: string | RegExp): Promise<void> {
  for (let presses = 0; presses < TABS_MAX; presses++) {
    if (isNamed(await focused(page), name)) return
    await page.keyboard.press('Tab')
  }
  throw new Error(`no Tab leads to "${String(name)}"`)
}

const isNamed = (text: string, name: string | RegExp): boolean =>
  typeof name === 'string' ? text.trim() === name : name.test(text.trim())

/** Goes to a link or button, and presses it. */
export async function choose(page: Page, name: string | RegExp): Promise<void> {
  await tabTo(page, name)
  await page.keyboard.press('Enter')
}

/** Goes to a field, and types over what it has. */
export async function type(page: Page, name: string | RegExp, text: string): Promise<void> {
  await tabTo(page, name)
  await page.keyboard.press('Control+a')
  await page.keyboard.type(text)
}

/** Opens a screen by its letter. */
export async function open(page: Page, letter: string, title: string): Promise<void> {
  // A field that has the focus takes letters as text.
  await page.keyboard.press('Escape')
  await page.keyboard.press('Escape')
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  await page.evaluate('document.activeElement?.blur()')
  await page.keyboard.press('g')
  await page.keyboard.press(letter)
  await page.getByRole('heading', { name: title, level: 1 }).waitFor()
}
