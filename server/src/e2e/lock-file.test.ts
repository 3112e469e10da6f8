import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { test } from 'node:test'

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
