import { asset } from './asset.ts'
import { readFileSync } from 'node:fs'

/** The version of Sixwire. */
export function platformVersion(): string {
  const manifest = readFileSync(asset('../package.json'), 'utf8')
  return (JSON.parse(manifest) as { version: string }).version
}
