/** What an operator may set of access: what the first start makes, secrets, tokens and keys. */
import { row } from './row.ts'
import { email, longestMs, readableFile, textOfAtLeast, trueOrFalse, wholeNumber } from './values.ts'

export const accessVariables = {
  organization: row('DROVER_ORGANIZATION', 'drover', textOfAtLeast(1), 'Organization made at the first start.'),
  adminEmail: row('DROVER_ADMIN_EMAIL', null, email, 'Email of the user made at the first start, with profile root.'),
  adminPassword: row('DROVER_ADMIN_PASSWORD', null, textOfAtLeast(8), 'Password of that user.', { secret: true }),
  adminApiKey: row('DROVER_ADMIN_API_KEY', null, textOfAtLeast(16), 'API key of that user.', { secret: true }),
  secret: row(
    'DROVER_SECRET',
    null,
    textOfAtLeast(32),
    'Seals the API keys kept in the database and signs the tokens of users; the same in every process. Made at the first start and kept in the database when unset.',
    { secret: true },
  ),
  jwtPrivateKeyFile: row(
    'DROVER_JWT_PRIVATE_KEY_FILE',
    null,
    readableFile,
    'A private key (PEM, RSA or P-256): tokens are then signed RS256 or ES256.',
  ),
  tokenLifetimeMs: row(
    'DROVER_TOKEN_LIFETIME_MS',
    '28800000',
    wholeNumber(1_000, longestMs),
    'How long a token of a user is good.',
  ),
  northApiKeys: row(
    'DROVER_NORTH_API_KEYS',
    'true',
    trueOrFalse,
    'Whether clients may use API keys; devices always may.',
  ),
} as const
