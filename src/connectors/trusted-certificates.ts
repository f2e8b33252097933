/** Whom outgoing TLS trusts. It never trusts everybody: what is not signed by one of these is not spoken to. */
import { getCACertificates } from 'node:tls'

/** The option of a TLS connection that trusts these certificates (PEM) beside those of the system; none where there are none. */
export function trusting(certificates: readonly string[] = []): { ca?: string[] } {
  return certificates.length > 0 ? { ca: [...getCACertificates(), ...certificates] } : {}
}
