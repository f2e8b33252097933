import { spawnSync } from 'node:child_process'
import { readdir } from 'node:fs/promises'
import path from 'node:path'
import { StatefulSet } from 'kubernetes-models/apps/v1'
import { NetworkPolicy } from 'kubernetes-models/networking.k8s.io/v1'
import { PodDisruptionBudget } from 'kubernetes-models/policy/v1'
import { ConfigMap, Namespace, Secret, Service } from 'kubernetes-models/v1'
import { describe, expect, test } from 'vitest'
import { parseAllDocuments } from 'yaml'
import { readConfig, unknownVariables } from '../../src/config/config.ts'
import { roles } from '../../src/config/process.ts'
import { kustomized, type Manifest, manifestsIn } from './kustomize.ts'

const folder = path.resolve(import.meta.dirname, '../../deploy/kubernetes')

interface Pod {
  readonly terminationGracePeriodSeconds: number
  readonly securityContext: { readonly runAsNonRoot: boolean }
  readonly containers: readonly {
    readonly env?: readonly { readonly name: string; readonly value: string }[]
    readonly securityContext: object
    readonly ports: readonly { readonly name: string; readonly containerPort: number }[]
    readonly readinessProbe: { readonly httpGet: { readonly path: string; readonly port: string } }
    readonly livenessProbe: { readonly httpGet: { readonly path: string } }
  }[]
}

const models: Readonly<Record<string, new (manifest: never) => { validate(): void }>> = {
  ConfigMap,
  Namespace,
  NetworkPolicy,
  PodDisruptionBudget,
  Secret,
  Service,
  StatefulSet,
}

const isManifest = (file: string) => file.endsWith('.yaml') && !file.endsWith('kustomization.yaml')
const files = (await readdir(folder, { recursive: true })).filter(isManifest)
const all = files.flatMap(file => manifestsIn(path.join(folder, file)))
const FOLDERS = ['base', 'roles'] as const
const podOf = (manifest: Manifest) => (manifest as unknown as { spec: { template: { spec: Pod } } }).spec.template.spec
const sets = all.filter(({ kind }) => kind === 'StatefulSet')
const secret = all.find(({ kind }) => kind === 'Secret') as unknown as { stringData: Record<string, string> }

const named = (from: string, manifests: readonly Manifest[]) =>
  manifests.map(manifest => [`${manifest.kind} ${manifest.metadata.name} ${from}`, manifest] as const)

test.each([
  ...named('as it stands', all),
  ...FOLDERS.flatMap(name => named(`as built of ${name}`, kustomized(path.join(folder, name)))),
])('%s follows the schema of Kubernetes 1.32 or so', (_, manifest) => {
  const model = models[manifest.kind]
  expect(model).toBeDefined()
  expect(() => new model!(manifest as never).validate()).not.toThrow()
})

describe.each(sets.map(set => [set.metadata.name, podOf(set)] as const))('the pods of %s', (_, pod) => {
  test('may do nothing that the restricted standard of pods forbids', () => {
    expect(pod.securityContext).toMatchObject({ runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } })
    for (const { securityContext } of pod.containers) {
      expect(securityContext).toEqual({
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ['ALL'] },
      })
    }
  })

  test('are asked at the addresses where the service answers, and have time to stop', () => {
    const [container] = pod.containers
    expect(container!.readinessProbe.httpGet).toEqual({ path: '/health/ready', port: 'http' })
    expect(container!.livenessProbe.httpGet.path).toBe('/health/live')
    expect(container!.ports.find(({ name }) => name === 'http')?.containerPort).toBe(readConfig({}).port)
    expect(pod.terminationGracePeriodSeconds).toBeGreaterThan(30)
  })
})

describe('built by kustomize', () => {
  const built = (name: string) => kustomized(path.join(folder, name))
  const environmentOf = (manifests: readonly Manifest[], set: Manifest) => {
    const config = manifests.find(({ kind }) => kind === 'ConfigMap') as unknown as { data: Record<string, string> }
    const own = podOf(set).containers[0]!.env ?? []
    return { ...config.data, ...secret.stringData, ...Object.fromEntries(own.map(({ name, value }) => [name, value])) }
  }

  test('the base has nodes that do everything, with variables that exist', () => {
    const manifests = built('base')
    const nodes = manifests.filter(({ kind }) => kind === 'StatefulSet')
    expect(nodes.map(({ metadata }) => metadata.name)).toEqual(['drover'])
    const environment = environmentOf(manifests, nodes[0]!)
    expect(unknownVariables(environment)).toEqual([])
    expect(readConfig(environment).roles).toEqual(roles)
  })

  test('doors and engines apart have every role between them', () => {
    const manifests = built('roles')
    const nodes = manifests.filter(({ kind }) => kind === 'StatefulSet')
    const held = nodes.map(set => readConfig(environmentOf(manifests, set)).roles)
    expect(held).toEqual([['north', 'south'], ['engine']])
  })
})

const isThere = spawnSync('kubectl', ['version', '--client']).status === 0

test.runIf(isThere).each(FOLDERS)('kubectl builds of %s what is looked at here', name => {
  const { status, stdout, stderr } = spawnSync('kubectl', ['kustomize', path.join(folder, name)], { encoding: 'utf8' })
  expect([status, stderr]).toEqual([0, ''])
  // Behind a generated name stands a hash of its contents, wherever it is meant.
  const [, hashed = ''] = /name: (drover-[a-z0-9]{10})$/m.exec(stdout) ?? []
  const manifests = parseAllDocuments(stdout.replaceAll(hashed, 'drover')).map(document => document.toJS() as Manifest)
  const inOrder = (from: readonly Manifest[]) =>
    from.toSorted((a, b) => `${a.kind} ${a.metadata.name}`.localeCompare(`${b.kind} ${b.metadata.name}`))
  expect(inOrder(manifests)).toEqual(inOrder(kustomized(path.join(folder, name))))
})
