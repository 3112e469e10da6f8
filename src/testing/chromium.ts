import { existsSync } from 'node:fs'
import { after } from 'node:test'

import { chromium, type Browser } from 'playwright-core'

// The headless shell has no windows, and takes half of the processor time of the whole browser.
const path = [
  process.env['CHROMIUM'],
  '/usr/bin/chromium-headless-shell',
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
].find((one) => one && existsSync(one))

/** Why browser tests are skipped here; false where they run. */
export const withoutChromium = path ? false : 'there is no Chromium here: install one, or name it in CHROMIUM'

// A list given here takes the place of playwright-core's own, which the first are from (1.65, without those of Edge and
// Windows). The last two would load two pages of the browser's own in each window, which take as much time as the page of a test.
const WITHOUT = [
  'AimEnabled',
  'AvoidCorsURLLoaderRestartOnRedirect',
  'AvoidUnnecessaryBeforeUnloadCheckSync',
  'DestroyProfileOnBrowserClose',
  'HttpsFirstBalancedModeAutoEnable',
  'HttpsUpgrades',
  'LensOverlay',
  'MediaRouter',
  'NetworkTimeServiceQuerying',
  'OptimizationHints',
  'PaintHolding',
  'PreconnectToSearch',
  'SpareRendererForSitePerProcess', // a process more for each page, which few of them use
  'ThirdPartyStoragePartitioning',
  'WebUIOmniboxAimPopup',
  'WebUIOmniboxPopup',
]

let shared: Promise<Browser> | undefined
after(async () => (await shared)?.close())

/** Chromium, one for all tests of a process, which ends with the last of them. Tests close the pages that they open. */
export function launchChromium(): Promise<Browser> {
  shared ??= chromium.launch({
    executablePath: path!,
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-software-rasterizer', // no page draws in three dimensions
      '--disable-background-networking',
      '--disable-extensions', // those of the browser itself have a process for each context
      '--in-process-gpu', // one process less
      `--disable-features=${WITHOUT.join()}`,
    ],
  })
  return shared
}
