// The Python and Java clients of docs/openapi.md: generated without a warning, and run.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { before, describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'

import { startApp, type TestApp } from '../testing/app.ts'
import { endOfSuite, someEngine, temporaryFolder } from '../testing/engines.ts'
import { blocksOf, shell } from '../testing/examples.ts'

const [save, , , get, python, java] = await blocksOf('docs/openapi.md', 'sh')
const [pythonProgram] = await blocksOf('docs/openapi.md', 'python')
const [javaProgram] = await blocksOf('docs/openapi.md', 'java')

const [, version = ''] = /openapi-generator-cli:([\d.]+)/.exec(get!)!
const file = `openapi-generator-cli-${version}.jar`
const JAR =
  process.env['OPENAPI_GENERATOR_JAR'] ??
  join(homedir(), '.m2/repository/org/openapitools/openapi-generator-cli', version, file)

const venv = fileURLToPath(new URL('../../../.cache/python/', import.meta.url))
const ownPython = join(venv, 'bin/python')
const PYTHON = process.env['PYTHON'] ?? (existsSync(ownPython) ? ownPython : 'python3')

const works = (command: string, ...words: string[]) => spawnSync(command, words).status === 0

const noGenerator =
  works('java', '-version') && existsSync(JAR)
    ? false
    : `needs java, and its jar in OPENAPI_GENERATOR_JAR or by: mvn dependency:get -Dartifact=org.openapitools:openapi-generator-cli:${version}`
const noPython = works(PYTHON, '-c', 'import dateutil, pydantic, urllib3')
  ? false
  : 'needs packages, in the Python of PYTHON or by: python3 -m venv .cache/python && .cache/python/bin/pip install pydantic python-dateutil urllib3'
const noMaven = works('mvn', '--version') ? false : 'needs mvn'

// What the generator says of itself, and not of the description: the second also of one with a single field of text.
const OF_THE_GENERATOR = /OpenAPI 3\.1 support is still in beta|Failed to get the schema name: null$/

const MISSING = 'Document 01arz3ndektsv4rrffq69g5fav not found in books.\n'

someEngine((engine) => {
  describe('a client of docs/openapi.md', () => {
    let app: TestApp
    let folder: string
    const ending = endOfSuite()
    const run = (script: string, variables: Record<string, string> = {}) =>
      shell(`exec 2>&1; cd '${folder}'; ${script}`, app, variables)
    async function generate(command: string): Promise<void> {
      const lines = (await run(command.replace(file, JAR))).split('\n')
      // A schema that the generator names itself.
      const faults = lines.filter((line) => /\b(WARN|ERROR)\b|Inline schema created/.test(line))
      assert.ok(lines.length > 100)
      assert.deepEqual(
        faults.filter((line) => !OF_THE_GENERATOR.test(line)),
        [],
      )
    }

    before(async () => {
      // Each program is a person of its own, who sees their own documents.
      app = await startApp(ending, engine, { config: { policy: 'guarded' } })
      folder = await temporaryFolder(ending)
      await run(save!)
    })

    test('in Python', { skip: noGenerator || noPython }, async () => {
      await generate(python!)
      await writeFile(join(folder, 'try.py'), pythonProgram!.replace('http://localhost:3000', app.url))
      const printed = await run(`'${PYTHON}' -W error try.py`, { PYTHONPATH: 'python-client' })
      assert.equal(printed, `Momo\nmomo.txt\n${MISSING}`)
    })

    test('in Java', { skip: noGenerator || noMaven }, async () => {
      await generate(java!)
      const program = javaProgram!.replace('http://localhost:3000', app.url).replace('ada@', 'bob@')
      await writeFile(join(folder, 'Try.java'), program)
      await run('cd java-client; mvn -q -B compile dependency:build-classpath -Dmdep.outputFile=classpath')
      const printed = await run('java -cp "java-client/target/classes:$(cat java-client/classpath)" Try.java')
      assert.equal(printed, `1973\nMomo\nmomo.txt\n${MISSING}`)
    })
  })
})
