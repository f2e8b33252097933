/** The operation types that whoever is signed in may run. It says nothing of those that others may. */
import { mayExecute } from '../contract/words.ts'
import { useAsked } from './live.ts'
import { asking } from './request.ts'
import { useSession } from './session.ts'

/** The types that the profile may run. */
export function useTypes() {
  const session = useSession()
  const found = useAsked(
    asking('GET /operationTypes/provision/organizations/{organization}', {
      path: { organization: session?.organization ?? '' },
    }),
  )
  const types = (found.data ?? []).filter(each => session && mayExecute(session.profile, each.profiles))
  return { ...found, types }
}
