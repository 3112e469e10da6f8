// The files of deploy/ agree with the server, and with each other.
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { test } from 'node:test'

import { parse, parseAllDocuments } from 'yaml'

import { readContainerfile } from '../testing/containerfile.ts'

/** After so long a server that was told to stop ends by force. */
const FORCED_END_S = 31

const root = new URL('../../../', import.meta.url)
const read = (path: string): Promise<string> => readFile(new URL(path, root), 'utf8')
const container = await readContainerfile(new URL('server/deploy/Containerfile', root))
const reference = await read('docs/reference.md')

const isRoute = (path: string): boolean => reference.includes(`| \`GET ${path}\` |`)

/** The variables that are no setting of the server. */
const unknownOf = (names: string[]): string[] =>
  names.filter((name) => !reference.includes(`| \`${name}\` |`))

type Probe = { httpGet: { path: string; port: string } }
type Deployment = {
  spec: {
    replicas: number
    template: {
      metadata: { labels: object }
      spec: {
        terminationGracePeriodSeconds: number
        securityContext: { runAsNonRoot: boolean; runAsUser: number; runAsGroup: number }
        volumes: { name: string }[]
        containers: {
          ports: { name: string; containerPort: number }[]
          env: { name: string }[]
          volumeMounts: { name: string; mountPath: string }[]
          securityContext: { readOnlyRootFilesystem: boolean; allowPrivilegeEscalation: boolean }
          lifecycle: { preStop: { exec: { command: string[] } } }
          startupProbe: Probe
          readinessProbe: Probe
          livenessProbe: Probe
        }[]
      }
    }
  }
}
type Service = { spec: { selector: object; ports: { targetPort: string }[] } }

test('the manifest of Kubernetes has the probes, the settings and the time to stop of the server', async () => {
  const documents = parseAllDocuments(await read('server/deploy/kubernetes.yaml'))
  assert.deepEqual(
    documents.flatMap((one) => one.errors),
    [],
  )
  const [deployment, service] = documents.map((one) => one.toJS() as unknown) as [Deployment, Service]
  const { replicas, template } = deployment.spec
  assert.equal(replicas, 2)
  assert.deepEqual(service.spec.selector, template.metadata.labels)
  const { containers, securityContext, terminationGracePeriodSeconds, volumes } = template.spec
  const [app] = containers
  assert.deepEqual(
    [app!.startupProbe, app!.readinessProbe, app!.livenessProbe].map(({ httpGet }) => httpGet.path),
    ['/ready', '/ready', '/ready'],
  )
  assert.ok(isRoute('/ready'))
  const [port] = app!.ports
  for (const probe of [app!.startupProbe, app!.readinessProbe, app!.livenessProbe])
    assert.equal(probe.httpGet.port, port!.name)
  assert.deepEqual([port!.containerPort, service.spec.ports[0]!.targetPort], [3000, port!.name])
  const [, pause] = app!.lifecycle.preStop.exec.command
  assert.ok(terminationGracePeriodSeconds > Number(pause) + FORCED_END_S)
  const { runAsNonRoot, runAsUser, runAsGroup } = securityContext
  assert.ok(runAsNonRoot && app!.securityContext.readOnlyRootFilesystem)
  assert.equal(app!.securityContext.allowPrivilegeEscalation, false)
  assert.equal(`${runAsUser}:${runAsGroup}`, container.user)
  assert.deepEqual(
    app!.volumeMounts.map(({ mountPath }) => mountPath),
    container.volumes,
  )
  assert.deepEqual(
    volumes.map(({ name }) => name),
    app!.volumeMounts.map(({ name }) => name),
  )
  const names = app!.env.map(({ name }) => name)
  assert.deepEqual(unknownOf(names), [])
  for (const name of ['SIXWIRE_SECRET', 'DATABASE_URL', 'PUBLIC_URL', 'S3_BUCKET'])
    assert.ok(names.includes(name), name)
})

type Compose = {
  services: Record<
    'app' | 'postgres' | 'caddy',
    {
      environment: Record<string, string>
      volumes: string[]
      read_only?: boolean
      stop_grace_period?: string
    }
  >
  volumes: Record<string, unknown>
}

test('compose.yaml has settings of the server, no password, and the time to stop', async () => {
  const text = await read('server/deploy/compose.yaml')
  const { services, volumes } = parse(text) as Compose
  const { app, postgres, caddy } = services
  assert.deepEqual(unknownOf(Object.keys(app.environment)), [])
  assert.ok(app.read_only)
  assert.ok(Number.parseInt(app.stop_grace_period!, 10) > FORCED_END_S)
  assert.deepEqual(app.volumes, [`data:${container.volumes.join()}`])
  for (const value of [app.environment['DATABASE_URL']!, postgres.environment['POSTGRES_PASSWORD']!])
    assert.match(value, /\$\{POSTGRES_PASSWORD:\?[^}]+\}/)
  const caddyfile = await read('server/deploy/Caddyfile')
  for (const name of Object.keys(caddy.environment)) assert.ok(caddyfile.includes(`{$${name}:`), name)
  const named = Object.values(services)
    .flatMap((one) => one.volumes.map((volume) => volume.split(':')[0]!))
    .filter((name) => !name.startsWith('.'))
  assert.deepEqual(named.toSorted(), Object.keys(volumes).toSorted())
})

test('the image has settings of the server, and keeps the secrets of the folder out', async () => {
  const { PATH, NODE_DISABLE_COMPILE_CACHE, MALLOC_ARENA_MAX, ...settings } = container.environment
  assert.deepEqual(unknownOf(Object.keys(settings)), [])
  assert.deepEqual([settings['DATA_DIR']], container.volumes)
  assert.ok(PATH!.startsWith(`${container.folder}/node_modules/.bin:`))
  assert.equal(NODE_DISABLE_COMPILE_CACHE, '1')
  assert.equal(MALLOC_ARENA_MAX, '2')
  const ignored = (await read('server/deploy/.dockerignore')).split('\n')
  for (const name of ['.env', 'data', 'node_modules']) assert.ok(ignored.includes(name), name)
})

test('the unit of systemd starts the same command, can write to its folders, and has the time to stop', async () => {
  const unit = await read('server/deploy/sixwire.service')
  const valueOf = (name: string) => new RegExp(`^${name}=(.*)$`, 'm').exec(unit)?.[1]
  assert.equal(valueOf('ExecStart'), ['/usr/bin/node', ...container.command.slice(1)].join(' '))
  assert.ok(Number(valueOf('TimeoutStopSec')) > FORCED_END_S)
  assert.equal(valueOf('MemoryDenyWriteExecute'), undefined)
  assert.match(
    await read('docs/deploy.md'),
    new RegExp(`DATA_DIR=/var/lib/${valueOf('StateDirectory')}\` to \`${valueOf('WorkingDirectory')}/.env`),
  )
})
