import sharp from 'sharp'

// https://www.matroska.org/technical/elements.html
const ID = {
  ebml: '1a45dfa3',
  docType: '4282',
  docTypeVersion: '4287',
  docTypeReadVersion: '4285',
  segment: '18538067',
  info: '1549a966',
  duration: '4489',
  timestampScale: '2ad7b1',
  muxingApp: '4d80',
  writingApp: '5741',
  tracks: '1654ae6b',
  trackEntry: 'ae',
  trackNumber: 'd7',
  trackUid: '73c5',
  trackType: '83',
  codecId: '86',
  video: 'e0',
  pixelWidth: 'b0',
  pixelHeight: 'ba',
  cues: '1c53bb6b',
  cuePoint: 'bb',
  cueTime: 'b3',
  cueTrackPositions: 'b7',
  cueTrack: 'f7',
  cueClusterPosition: 'f1',
  cluster: '1f43b675',
  timestamp: 'e7',
  simpleBlock: 'a3',
} as const

/** An element whose length has eight bytes, so that positions can be known before. */
function element(name: keyof typeof ID, ...parts: readonly Buffer[]): Buffer {
  const content = Buffer.concat(parts)
  const length = Buffer.alloc(8)
  length.writeBigUInt64BE(BigInt(content.length) | (1n << 56n))
  return Buffer.concat([Buffer.from(ID[name], 'hex'), length, content])
}

const number = (name: keyof typeof ID, value: number): Buffer => {
  const content = Buffer.alloc(8)
  content.writeBigUInt64BE(BigInt(value))
  return element(name, content)
}

const text = (name: keyof typeof ID, value: string): Buffer => element(name, Buffer.from(value))

/** A lossy WebP is a key frame of VP8 in a RIFF container: https://www.rfc-editor.org/rfc/rfc9649#section-2.5 */
async function frame(width: number, height: number, mean: number): Promise<Buffer> {
  const noise = { type: 'gaussian', mean, sigma: 40 } as const
  const webp = await sharp({ create: { width, height, channels: 3, background: 'black', noise } })
    .webp({ quality: 90 })
    .toBuffer()
  return webp.subarray(20, 20 + webp.readUInt32LE(16))
}

/** A WebM video of noise, of one image a second, each a key frame with an entry in the index at the front. */
export async function webmVideo(seconds: number): Promise<Uint8Array<ArrayBuffer>> {
  const [width, height] = [320, 240]
  const frames = await Promise.all([60, 120, 180].map((mean) => frame(width, height, mean)))
  const times = Array.from({ length: seconds }, (_, second) => second * 1000)

  const duration = Buffer.alloc(8)
  duration.writeDoubleBE(seconds * 1000)
  const apps = [text('muxingApp', 'test'), text('writingApp', 'test')]
  const info = element('info', number('timestampScale', 1_000_000), element('duration', duration), ...apps)
  const video = element('video', number('pixelWidth', width), number('pixelHeight', height))
  const ids = [number('trackNumber', 1), number('trackUid', 1), number('trackType', 1)]
  const tracks = element('tracks', element('trackEntry', ...ids, text('codecId', 'V_VP8'), video))

  // Track 1, 0 ms after the time of the cluster, a key frame.
  const block = Buffer.from([0x81, 0, 0, 0x80])
  const clusters = times.map((time, n) =>
    element('cluster', number('timestamp', time), element('simpleBlock', block, frames[n % frames.length]!)),
  )
  const cuesAt = (start: number): Buffer => {
    let at = start
    const points = times.map((time, n) => {
      const position = element('cueTrackPositions', number('cueTrack', 1), number('cueClusterPosition', at))
      at += clusters[n]!.length
      return element('cuePoint', number('cueTime', time), position)
    })
    return element('cues', ...points)
  }
  const front = info.length + tracks.length
  const cues = cuesAt(front + cuesAt(0).length)
  const versions = [number('docTypeVersion', 2), number('docTypeReadVersion', 2)]
  return new Uint8Array(
    Buffer.concat([
      element('ebml', text('docType', 'webm'), ...versions),
      element('segment', info, tracks, cues, ...clusters),
    ]),
  )
}
