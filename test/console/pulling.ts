/** Devices that ask for their work and answer it, each step when the test says so. */
import { type House, response } from '../service/house.ts'

interface Pending {
  readonly operation: { readonly request: { readonly id: string } }
}

/** Provisions such devices with a tag. */
export async function pulling(house: House, tag: string, devices: readonly string[]) {
  const keys = new Map<string, string>()
  for (const id of devices) {
    keys.set(
      id,
      await house.provision(id, {
        'provision.device.operation.flow': 'pull',
        'provision.administration.tags': [tag],
      }),
    )
  }
  const keyOf = (device: string) => keys.get(device) ?? ''

  /** What a device is asked to do, once it is asked. */
  async function taken(device: string): Promise<string> {
    const ask = () => house.south<Pending | undefined>(device, keyOf(device), 'operation/pending?wait=10')
    for (;;) {
      const { body } = await ask()
      if (body) return body.operation.request.id
    }
  }

  const answer = (device: string, id: string, members: Record<string, unknown>) =>
    house.south(device, keyOf(device), 'operation/response', response(id, members))

  return { keyOf, taken, answer }
}
