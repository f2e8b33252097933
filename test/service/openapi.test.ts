/** The OpenAPI document and its page, as a running service gives them. */
import { createConfig, lintFromString } from '@redocly/openapi-core'
import { Validator } from '@seriousme/openapi-schema-validator'
import { Ajv2020 } from 'ajv/dist/2020.js'
import formats from 'ajv-formats'
import Fastify from 'fastify'
import { describe, expect, test } from 'vitest'
import { type NorthParts, registerNorth } from '../../src/north/north.ts'
import { openapiPage } from '../../src/server/openapi-page.ts'
import { south } from '../../src/south/south.ts'
import { standIns } from '../south/parts.ts'
import { openHouse } from './house.ts'

interface Operation {
  summary?: string
  tags?: string[]
  operationId?: string
  security?: object[]
  parameters?: { in: string; name: string; example?: unknown }[]
  requestBody?: { content: Record<string, Media> }
  responses: Record<string, { $ref?: string; description?: string; content?: Record<string, Media> }>
}
interface Media {
  schema: { type?: string }
  example?: unknown
  examples?: Record<string, { value: unknown }>
}
interface Document {
  openapi: string
  servers: { url: string }[]
  paths: Record<string, Record<string, Operation>>
  components: { securitySchemes: object; responses: Record<string, { content: Record<string, { schema: object }> }> }
}

const house = await openHouse()
const answer = await fetch(`${house.url}/openapi.json`)
const document = (await answer.json()) as Document
const operations = Object.entries(document.paths).flatMap(([path, item]) =>
  Object.entries(item).map(([method, operation]) => ({ name: `${method} ${path}`, operation })),
)

/** What the doors register, by the hook of Fastify itself. The parts behind the routes are not needed for that. */
async function registeredRoutes(): Promise<string[]> {
  const server = Fastify()
  const routes: string[] = []
  server.addHook('onRoute', ({ method, url }) => {
    for (const each of [method].flat()) {
      if (each !== 'HEAD') routes.push(`${each.toLowerCase()} ${url.replace(/:(\w+)/g, '{$1}')}`)
    }
  })
  registerNorth(server, {} as NorthParts)
  server.register(south, { prefix: '/south/v80', parts: standIns().parts })
  await server.ready()
  await server.close()
  return routes.filter(route => !route.includes(' /v80/'))
}

describe('the OpenAPI document', () => {
  test('it is served to everybody and is valid OpenAPI 3.1', async () => {
    expect(answer.status).toBe(200)
    expect(document.openapi).toBe('3.1.0')
    const checked = await new Validator().validate({ ...document })
    expect(checked.valid, JSON.stringify('errors' in checked ? checked.errors : '')).toBe(true)
  })

  test('every route of both doors is in it, and nothing else', async () => {
    expect(operations.map(({ name }) => name).sort()).toEqual((await registeredRoutes()).sort())
  })

  test('every operation has a summary, a tag and a name of its own', () => {
    const wanting = operations.filter(({ operation: { summary, tags } }) => !summary || !tags?.length)
    expect(wanting.map(({ name }) => name)).toEqual([])
    const names = operations.map(({ operation }) => operation.operationId)
    expect(new Set(names).size).toBe(operations.length)
  })

  test('every operation says what a success of it is', () => {
    // Where a route says nothing, the document says 200, whatever is answered.
    const silent = operations.filter(({ operation: { responses } }) =>
      Object.values(responses).some(({ $ref, content, description }) => {
        return !$ref && !content && description === 'Default Response'
      }),
    )
    expect(silent.map(({ name }) => name)).toEqual([])
  })

  test('every refusal has the error body', () => {
    for (const { name, operation } of operations) {
      const refusals = Object.entries(operation.responses).filter(([status]) => Number(status) >= 400)
      expect(
        refusals.map(([status]) => status),
        name,
      ).toContain('400')
      for (const [, { $ref }] of refusals) {
        const refusal = document.components.responses[$ref?.split('/').at(-1) ?? '']
        expect(refusal?.content['application/json']?.schema, name).toEqual({ $ref: '#/components/schemas/ErrorBody' })
      }
    }
  })

  test('every operation says how its caller proves who it is; only the login is open', () => {
    const open = operations.filter(({ operation }) => operation.security?.length === 0)
    expect(open.map(({ name }) => name)).toEqual(['post /north/v80/provision/users/login'])
    expect(Object.keys(document.components.securitySchemes)).toEqual(['bearer', 'apiKey', 'apiKeyInQuery'])
  })
})

describe('the examples of the document', () => {
  /** Every body and every answer that is a success. */
  const contents = operations.flatMap(({ name, operation }) => {
    const successes = Object.entries(operation.responses).filter(([status]) => Number(status) < 300)
    return [['body', operation.requestBody] as const, ...successes].flatMap(([part, holder]) =>
      Object.entries(holder?.content ?? {}).map(([type, media]) => ({ what: `${name}: ${part} ${type}`, media })),
    )
  })
  const examplesOf = ({ example, examples }: Media) =>
    example === undefined ? Object.values(examples ?? {}).map(({ value }) => value) : [example]

  test('every body and every answer has one, and every parameter of a path', () => {
    const bare = contents.filter(({ media }) => media.schema.type !== 'null' && examplesOf(media).length === 0)
    expect(bare.map(({ what }) => what)).toEqual([])
    const unnamed = operations.flatMap(({ name, operation: { parameters = [] } }) =>
      parameters.filter(each => each.in === 'path' && !each.example).map(each => `${name}: ${each.name}`),
    )
    expect(unnamed).toEqual([])
  })

  test('each fits the schema that it is an example of', () => {
    const ajv = new Ajv2020({ strict: false })
    formats.default(ajv)
    const wrong: string[] = []
    let judged = 0
    for (const { what, media } of contents) {
      const validate = ajv.compile(media.schema)
      for (const example of examplesOf(media)) {
        judged += 1
        if (!validate(example)) wrong.push(`${what}: ${ajv.errorsText(validate.errors)}`)
      }
    }
    expect(wrong).toEqual([])
    expect(judged).toBeGreaterThan(150)
  })
})

test('a linter with strict rules has nothing to say of the document', async () => {
  const config = await createConfig({ extends: ['recommended-strict'] })
  const problems = await lintFromString({ source: JSON.stringify(document), absoluteRef: '/openapi.json', config })
  expect(problems.map(({ ruleId, message, location }) => `${ruleId}: ${message} ${location[0]?.pointer}`)).toEqual([])
})

describe('the page', () => {
  test('it shows every operation, and reaches nothing else', async () => {
    const page = await fetch(`${house.url}/docs`)
    const html = await page.text()
    expect(page.headers.get('content-type')).toBe('text/html; charset=utf-8')
    expect(page.headers.get('content-security-policy')).toContain("default-src 'none'")
    for (const { operation } of operations) expect(html).toContain(`id="${operation.operationId}"`)
    expect(html).not.toMatch(/<script|<link|src=|href="(?!\/openapi)/)
  })

  test('it shows the examples', async () => {
    const html = await (await fetch(`${house.url}/docs`)).text()
    expect(html).toContain('&#34;meter-17&#34;')
    expect(html).toContain('resourceType;provision.device.identifier')
  })

  test('nothing of the document reaches it as markup', () => {
    const hostile = '<img onerror=alert(1)>'
    const operation = { summary: hostile, tags: [hostile], responses: { 200: { description: hostile } } }
    const html = openapiPage({ info: { title: hostile }, paths: { [hostile]: { get: operation } } })
    expect(html).not.toContain('<img')
    expect(html).toContain('&#60;img')
  })
})
