import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { render, type SqlFragment, sql, statement, statements } from '../../src/store/statement.ts'

describe('declared statements', () => {
  test('a statement is registered once under its name', () => {
    const made = statement<{ n: number }>('test-declared', 'select 1 as n')
    expect(statements).toContain(made)
    expect(() => statement('test-declared', 'select 2')).toThrow('declared twice')
    expect(() => statement('x'.repeat(64), 'select 1')).toThrow('63 bytes')
  })
})

describe('composed statements', () => {
  test('values are bound and fragments woven in, in order', () => {
    const condition = sql`state = ${'IDLE'} and user_email = ${'a@b'}`
    const all = sql`select * from job where ${condition} limit ${10}`
    expect(render(all)).toEqual({
      text: 'select * from job where state = $1 and user_email = $2 limit $3',
      values: ['IDLE', 'a@b', 10],
    })
  })

  test('fragments are joined by a separator; none give nothing', () => {
    const parts = [sql`a = ${1}`, sql`b = ${2}`]
    expect(render(sql`(${sql.join(parts, sql` or `)})`)).toEqual({ text: '(a = $1 or b = $2)', values: [1, 2] })
    expect(render(sql.join(parts)).text).toBe('a = $1, b = $2')
    expect(render(sql`x${sql.join([])}y${sql.empty}`)).toEqual({ text: 'xy', values: [] })
  })

  test('an identifier is taken from a fixed list only', () => {
    expect(render(sql`order by ${sql.identifier('end_at', ['end_at'])}`).text).toBe('order by "end_at"')
    expect(() => sql.identifier('1; drop table job', ['end_at'])).toThrow('not one of the identifiers')
  })

  test('no value ever reaches the text, not even one shaped like a fragment', () => {
    const forged = { parts: ['drop table job'], values: [] }
    expect(render(sql`select ${forged}`)).toEqual({ text: 'select $1', values: [forged] })
  })

  test('however fragments are nested, there are as many placeholders as values, in order', () => {
    const tree = fc.letrec<{ node: SqlFragment }>(tie => ({
      node: fc.oneof(
        { depthSize: 'small' },
        fc.integer().map(n => sql`${n}`),
        fc.array(tie('node'), { maxLength: 4 }).map(nodes => sql.join(nodes)),
        fc.tuple(tie('node'), fc.string()).map(([node, text]) => sql`(${node}, ${text})`),
      ),
    }))
    fc.assert(
      fc.property(tree.node, node => {
        const { text, values } = render(node)
        expect(text.match(/\$\d+/g) ?? []).toEqual(values.map((_, index) => `$${index + 1}`))
      }),
    )
  })
})
