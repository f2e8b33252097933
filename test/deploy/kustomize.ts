/**
 * Kustomize as far as the folders under deploy/kubernetes need it, so that what they build is looked at where there is no kubectl. A
 * field that it does not know is an error: nothing is passed over.
 */
import { readFileSync, statSync } from 'node:fs'
import path from 'node:path'
import { parse, parseAllDocuments } from 'yaml'

export interface Manifest {
  readonly kind: string
  readonly metadata: { readonly name: string; readonly namespace?: string; readonly labels?: Labels }
}

type Labels = Readonly<Record<string, string>>
type Json = Record<string, unknown>

interface Kustomization {
  readonly apiVersion: string
  readonly kind: 'Kustomization'
  readonly namespace?: string
  readonly labels?: readonly { readonly pairs: Labels; readonly includeSelectors: true }[]
  readonly resources: readonly string[]
  readonly configMapGenerator?: readonly { readonly name: string; readonly literals: readonly string[] }[]
  readonly images?: readonly { readonly name: string; readonly newName: string; readonly newTag: string }[]
  readonly patches?: readonly {
    readonly target: { readonly kind: string; readonly name: string }
    readonly patch: string
  }[]
}

const KNOWN = 'apiVersion kind namespace labels resources configMapGenerator images patches'.split(' ')

/** The manifests in a file. */
export const manifestsIn = (file: string): Manifest[] =>
  parseAllDocuments(readFileSync(file, 'utf8')).map(document => document.toJS() as Manifest)

/** What `kubectl kustomize` builds of a folder; generated names have no hash behind them. */
export function kustomized(folder: string): Manifest[] {
  const asked = parse(readFileSync(path.join(folder, 'kustomization.yaml'), 'utf8')) as Kustomization
  const unknown = Object.keys(asked).filter(each => !KNOWN.includes(each))
  if (unknown.length > 0) throw new Error(`fields of a kustomization that are not known here: ${unknown.join(', ')}`)
  const built = [
    ...asked.resources.flatMap(each => {
      const at = path.join(folder, each)
      return statSync(at).isDirectory() ? kustomized(at) : manifestsIn(at)
    }),
    ...(asked.configMapGenerator ?? []).map(({ name, literals }) => ({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name },
      data: Object.fromEntries(
        literals.map(each => [each.slice(0, each.indexOf('=')), each.slice(each.indexOf('=') + 1)]),
      ),
    })),
  ] as (Manifest & Json)[]
  for (const { target, patch } of asked.patches ?? []) {
    const met = built.filter(({ kind, metadata }) => kind === target.kind && metadata.name === target.name)
    if (met.length === 0) throw new Error(`nothing to patch: ${target.kind} ${target.name}`)
    for (const each of met) for (const change of parse(patch) as Change[]) applyChange(each, change)
  }
  return built.map(each => {
    const labelled = (asked.labels ?? []).reduce((manifest, { pairs }) => withLabels(manifest, pairs), each)
    return withImages(inNamespace(labelled, asked.namespace), asked.images ?? [])
  })
}

interface Change {
  readonly op: 'add' | 'replace'
  readonly path: string
  readonly value: unknown
}

/** One change as RFC 6902 has it. */
function applyChange(manifest: Json, { op, path: pointer, value }: Change): void {
  const keys = pointer
    .slice(1)
    .split('/')
    .map(key => key.replaceAll('~1', '/').replaceAll('~0', '~'))
  const last = keys.pop() ?? ''
  const place = keys.reduce<Json>((at, key) => (at as Record<string, Json>)[key] as Json, manifest)
  if (place === undefined || (op === 'replace' && !(last in place))) throw new Error(`no place to ${op} at ${pointer}`)
  place[last] = value
}

function inNamespace(manifest: Manifest & Json, namespace: string | undefined): Manifest & Json {
  if (namespace === undefined) return manifest
  const metadata = { ...manifest.metadata, ...(manifest.kind === 'Namespace' ? { name: namespace } : { namespace }) }
  return { ...manifest, metadata }
}

/** Labels where Kubernetes compares them: on the manifest, in its selectors, and on the pods it makes. */
const SELECTORS: Readonly<Record<string, readonly string[]>> = {
  ConfigMap: [],
  Namespace: [],
  NetworkPolicy: ['spec.podSelector.matchLabels'],
  PodDisruptionBudget: ['spec.selector.matchLabels'],
  Service: ['spec.selector'],
  StatefulSet: ['spec.selector.matchLabels', 'spec.template.metadata.labels'],
}

function withLabels(manifest: Manifest & Json, pairs: Labels): Manifest & Json {
  const places = SELECTORS[manifest.kind]
  if (places === undefined) throw new Error(`it is not known here where a ${manifest.kind} has selectors`)
  const labelled = structuredClone(manifest)
  for (const place of ['metadata.labels', ...places]) {
    const at = place.split('.').reduce<Json>((json, key) => {
      json[key] ??= {}
      return json[key] as Json
    }, labelled)
    Object.assign(at, pairs)
  }
  const spreads = pick(labelled, 'spec.template.spec.topologySpreadConstraints') ?? []
  for (const each of spreads as Json[]) Object.assign(pick(each, 'labelSelector.matchLabels') ?? {}, pairs)
  return labelled
}

/** What lies at a path; undefined where nothing does. */
const pick = (json: Json, place: string): unknown =>
  place.split('.').reduce<unknown>((at, key) => (at as Json | undefined)?.[key], json)

function withImages(manifest: Manifest & Json, images: NonNullable<Kustomization['images']>): Manifest & Json {
  const swap = (image: string) => {
    const found = images.find(({ name }) => image === name || image.startsWith(`${name}:`))
    return found ? `${found.newName}:${found.newTag}` : image
  }
  return JSON.parse(JSON.stringify(manifest), (key, value) =>
    key === 'image' && typeof value === 'string' ? swap(value) : value,
  )
}
