/**
 * How statements on the tables of what is under way are planned: those are empty one minute and full the next, and what the planner believes of
 * them must not decide that a batch of 500 reads a million.
 */

const SETTINGS = {
  plan_cache_mode: 'force_generic_plan',
  enable_seqscan: 'off',
  enable_indexonlyscan: 'off',
  enable_hashjoin: 'off',
  enable_mergejoin: 'off',
}

/** Has the server plan the rest of a transaction so that every row is found by its key, one after the other. */
export const planByKey = `select ${Object.entries(SETTINGS)
  .map(([setting, value]) => `set_config('${setting}', '${value}', true)`)
  .join(', ')}`

/** Stands before the names of statements that were planned so. */
export const BY_KEY = 'by_key_'
