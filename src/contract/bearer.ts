/** How a token travels in a request. What is in it, and whether it is good, is not its business. */

/** The token in an `Authorization` header; undefined where it holds none after `Bearer`. Serves: Authentication. */
export function bearerToken(authorization: string): string | undefined {
  return /^Bearer +([\w.~+/-]+=*) *$/i.exec(authorization)?.[1]
}
