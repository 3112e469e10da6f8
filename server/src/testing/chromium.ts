import { createReadStream, createWriteStream, existsSync } from 'node:fs'
import { link, mkdir, readFile, unlink } from 'node:fs/promises'
import { after } from 'node:test'
import { fileURLToPath } from 'node:url'
import { pipeline } from 'node:stream/promises'
import { createBrotliDecompress } from 'node:zlib'

import { chromium, type Browser } from 'playwright-core'

// A package has Chromium's headless shell for Linux. It has no windows, and takes half of the processor time of the browser.
const PACKAGE =
  process.platform === 'linux' && process.arch === 'x64'
    ? new URL('../', import.meta.resolve('@sparticuz/chromium'))
    : undefined
const UNPACKED = new URL('../../../node_modules/.cache/chromium/', import.meta.url)

/** A browser of this machine, elsewhere or if it is named. */
const installed = [
  process.env['CHROMIUM'],
  ...(PACKAGE ? [] : ['/usr/bin/chromium', '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome']),
].find((one) => one && existsSync(one))

/** Why browser tests are skipped here; false where they run. */
export const withoutChromium =
  installed || PACKAGE ? false : 'there is no Chromium here: install one, or name it in CHROMIUM'

/** Unpacks the browser of a package, once a version. @returns the path of the program */
async function unpack(folder: URL): Promise<string> {
  const { version } = JSON.parse(await readFile(new URL('package.json', folder), 'utf8')) as {
    version: string
  }
  const program = fileURLToPath(new URL(version, UNPACKED))
  if (existsSync(program)) return program
  await mkdir(UNPACKED, { recursive: true })
  const part = `${program}-${process.pid}` // several processes may begin at once
  await pipeline(
    createReadStream(new URL('bin/chromium.br', folder)),
    createBrotliDecompress(),
    createWriteStream(part, { mode: 0o755 }),
  )
  // The first one stays: a browser that runs cannot start its processes from a file that another one has replaced.
  await link(part, program).catch((error: unknown) => {
    if (!existsSync(program)) throw error
  })
  await unlink(part)
  return program
}

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
  shared ??= launch()
  return shared
}

const launch = async (): Promise<Browser> =>
  chromium.launch({
    executablePath: installed ?? (await unpack(PACKAGE!)),
    // The folder of a run belongs to its PostgreSQL: the browser's processes may not write there.
    env: { ...process.env, TMPDIR: '/tmp' },
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-software-rasterizer', // no page draws in three dimensions
      '--disable-background-networking',
      '--disable-extensions', // those of the browser itself have a process for each context
      `--disable-features=${WITHOUT.join()}`,
    ],
  })
