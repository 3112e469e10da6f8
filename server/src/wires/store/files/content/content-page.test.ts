import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'

import type { Browser, Page } from 'playwright-core'
import sharp from 'sharp'

import { startApp, type TestApp } from '../../../../testing/app.ts'
import { launchChromium, withoutChromium } from '../../../../testing/chromium.ts'
import { anyEngine, endOfSuite } from '../../../../testing/engines.ts'
import { upload, type NewFile } from './file-content.fixture.ts'
import { webmVideo } from './webm.fixture.ts'

// https://html.spec.whatwg.org/multipage/media.html#dom-media-have_current_data
const HAS_FRAME = `document.querySelector('video').readyState >= 2`

anyEngine((engine) => {
  let app: TestApp
  let token: string
  let browser: Browser
  const ending = endOfSuite()
  before(async () => {
    if (withoutChromium) return
    app = await startApp(ending, engine)
    token = (await app.register()).token
    browser = await launchChromium()
  })

  /** Uploads a file; answers its signed link at the real address. */
  async function linkTo(file: NewFile): Promise<string> {
    const { _id } = await upload(app, token, file)
    const { body } = await app.request('POST', `/store/files/${_id}/link`, { token, body: {} })
    return app.url + new URL(body.url).pathname + new URL(body.url).search
  }

  async function openPage(): Promise<{ page: Page; ranges: string[] }> {
    const page = await browser.newPage()
    const ranges: string[] = []
    page.on('response', (response) => {
      if (response.status() === 206) ranges.push(response.headers()['content-range']!)
    })
    return { page, ranges }
  }

  test('a browser plays a video by ranges, also after a seek', { skip: withoutChromium }, async () => {
    const bytes = await webmVideo(200)
    const link = await linkTo({ name: 'noise.webm', type: 'video/webm', bytes })
    const { page, ranges } = await openPage()
    await page.setContent(`<video muted src="${link}"></video>`)
    await page.waitForFunction(HAS_FRAME)
    const played = await page.evaluate(`(async () => {
      const video = document.querySelector('video')
      const seeked = new Promise((resolve) => video.addEventListener('seeked', resolve, { once: true }))
      video.currentTime = 150
      await seeked
      const from = video.currentTime
      await video.play()
      while (video.currentTime <= from) await new Promise((resolve) => setTimeout(resolve, 10))
      return { from, duration: video.duration, error: video.error?.message }
    })()`)
    assert.deepEqual(played, { from: 150, duration: 200, error: undefined })
    const starts = ranges.map((range) => Number(/^bytes (\d+)-/.exec(range)![1]))
    assert.ok(starts.includes(0), ranges.join())
    // What is between was not asked for.
    assert.ok(
      starts.some((start) => start > bytes.length / 2),
      `${bytes.length}: ${ranges.join()}`,
    )
    await page.close()
  })

  test(
    'a video and an image that are opened by themselves are shown',
    { skip: withoutChromium },
    async () => {
      const { page } = await openPage()
      await page.goto(await linkTo({ name: 'noise.webm', type: 'video/webm', bytes: await webmVideo(5) }))
      while (!(await page.evaluate(HAS_FRAME))) await sleep(10)
      const picture = sharp({ create: { width: 30, height: 20, channels: 3, background: 'green' } })
      const bytes = new Uint8Array(await picture.png().toBuffer())
      await page.goto(await linkTo({ name: 'green.png', type: 'image/png', bytes }))
      assert.equal(await page.evaluate('document.images[0].naturalWidth'), 30)
      await page.close()
    },
  )

  test('a page of text that looks like HTML runs nothing', { skip: withoutChromium }, async () => {
    const { page } = await openPage()
    await page.goto(
      await linkTo({ name: 'a.txt', bytes: '<title>run</title><script>document.title = 1</script>' }),
    )
    assert.equal(await page.title(), '')
    assert.match((await page.textContent('pre'))!, /^<title>run/)
    await page.close()
  })
})
