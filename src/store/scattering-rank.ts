/**
 * The places of a job's operations, computed inside PostgreSQL by one set-based statement. What a place is, the domain
 * says (`scattering-rank.ts` there); this is the same definition as SQL text, and a test holds the two together.
 */
import { entityFactor, firstMixer, hashPrime, jobFactor, secondMixer } from '../domain/scattering-rank.ts'

/**
 * An SQL expression of type `bigint` equal to the domain's `scatterHash`. Both arguments are SQL expressions of type
 * `bigint`, not negative; each is named four times, so they should be columns or parameters.
 */
export function scatterHashSql(jobExpr: string, entityExpr: string): string {
  const seed = `(((${entityExpr}) % ${hashPrime} * ${entityFactor} + (${jobExpr}) % ${hashPrime} * ${jobFactor}) % ${hashPrime})`
  const mixed = `((${seed} # (${seed} >> 16)) * ${firstMixer} & 4294967295)`
  return `((${mixed} # (${mixed} >> 15)) * ${secondMixer} & 4294967295)`
}

/**
 * A query with the columns partition, entity, place (bigint, from 0 without gaps) over all operations of the job $1, to
 * stand behind `insert into … ` or in a CTE. Without a strategy it sorts once. With one it reads $2, the strategy's
 * factor, groups by what the entity's subscription last collected as `cellInfo`, and sorts twice.
 */
export function rankPlacesSql(strategy: boolean): string {
  return strategy ? rankByStrategy : rankByHash
}

const hash = scatterHashSql('$1::int8', 'o.entity')

const rankByHash = `
select o.partition, o.entity, row_number() over (order by ${hash}, o.entity) - 1 as place
from operation o
where o.job = $1::int8`

// "across" and "within" follow the same order, so that one sort serves all three windows. The score is written so that
// each step rounds exactly as the domain's does.
const rankByStrategy = `
with hashed as (
  select o.partition, o.entity, e.cell_info collate "C" as cell, ${hash} as hash
  from operation o
  left join entity e on e.partition = o.partition and e.entity = o.entity
  where o.job = $1::int8
),
ranked as (
  select partition, entity, hash,
    row_number() over (order by cell nulls last, hash, entity) - 1 as across,
    row_number() over (partition by cell order by hash, entity) - 1 as within,
    count(*) over (partition by cell) as members,
    count(*) over () as operations
  from hashed
)
select partition, entity,
  row_number() over (
    order by
      (100 - $2::int4)::float8 * (across::float8 / operations::float8)
        + $2::int4::float8 * ((within::float8 + 0.5) / members::float8),
      hash, entity
  ) - 1 as place
from ranked`
