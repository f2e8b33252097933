/** What is chosen in a view, kept in its address, so that it can be sent to somebody and gone back to. */
import { useSearchParams } from 'wouter'

/** The value of one name in the address's query, and how to change it; what it is without being said is left out. */
export function useAddressed(name: string, unsaid = ''): readonly [string, (value: string) => void] {
  const [params, setParams] = useSearchParams()
  const set = (value: string) =>
    setParams(
      before => {
        const next = new URLSearchParams(before)
        if (value === unsaid) next.delete(name)
        else next.set(name, value)
        return next
      },
      { replace: true },
    )
  return [params.get(name) ?? unsaid, set]
}
