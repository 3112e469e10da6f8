import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { test } from 'node:test'

test('a checkout has the name and the version of the package, which npm start shows', async () => {
  const nameOf = async (path: string): Promise<object> => {
    const text = await readFile(new URL(`../../../${path}`, import.meta.url), 'utf8')
    const { name, version } = JSON.parse(text) as { name: string; version: string }
    return { name, version }
  }
  assert.deepEqual(await nameOf('package.json'), await nameOf('server/package.json'))
})

test('npm ci verifies each package by the hash that package-lock.json has', async () => {
  const text = await readFile(new URL('../../../package-lock.json', import.meta.url), 'utf8')
  const lock = JSON.parse(text) as { packages: Record<string, { integrity?: string; link?: true }> }
  // The workspaces aside.
  const packages = Object.entries(lock.packages).filter(
    ([path, { link }]) => path.includes('node_modules/') && !link,
  )
  assert.ok(packages.length > 100)
  const unverified = packages.filter(([, { integrity }]) => !integrity?.startsWith('sha512-'))
  assert.deepEqual(
    unverified.map(([path]) => path),
    [],
    'add `integrity`, from npm view NAME@VERSION dist.integrity',
  )
})
