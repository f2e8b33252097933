/**
 * A bounded number of places, shared by whoever comes: nobody takes so many that there are none left for others. It knows jobs and
 * organizations by their numbers, and nothing of what the places are for.
 */

/** For whom a place is taken. */
export interface PlaceOwner {
  readonly organization: number
  readonly job: bigint
}

export interface Places {
  free(): number
  /** Whether the owner could take a place now. */
  has(owner: PlaceOwner): boolean
  /** Takes a place; false where the owner may have none just now. */
  take(owner: PlaceOwner): boolean
  leave(owner: PlaceOwner): void
  /** What could be taken now, asked for one owner after another: each yes counts for the next, and nothing is taken. */
  trial(): (owner: PlaceOwner) => boolean
}

/** Of all places, what is kept for organizations that have none yet. */
const KEPT_PORTION = 1 / 8
/** A job gets this portion of what is free beyond that, however many its organization has. */
const LEAST_PORTION = 1 / 16

/**
 * Makes so many places. A job may take one more while it has fewer than are free beyond as many as its organization has: a single job
 * gets a third, an organization alone about half, and whoever comes later finds room. A job of an organization that has more than that
 * already, since others came, gets little, but something.
 */
export function sharedPlaces(max: number): Places {
  const taken = counts()

  /** Whether the owner may have one more beside what is taken, and what else is counted as if it were. */
  function may(owner: PlaceOwner, asked: Counts): boolean {
    const free = max - taken.all() - asked.all()
    const ofOrganization = taken.ofOrganization(owner) + asked.ofOrganization(owner)
    const ofJob = taken.ofJob(owner) + asked.ofJob(owner)
    return ofJob < Math.max(free - ofOrganization, (free - max * KEPT_PORTION) * LEAST_PORTION)
  }

  const nothing = counts()
  return {
    free: () => max - taken.all(),
    has: owner => may(owner, nothing),
    take(owner) {
      const allowed = may(owner, nothing)
      if (allowed) taken.add(owner, 1)
      return allowed
    },
    leave: owner => taken.add(owner, -1),
    trial() {
      const asked = counts()
      return owner => {
        const allowed = may(owner, asked)
        if (allowed) asked.add(owner, 1)
        return allowed
      }
    },
  }
}

type Counts = ReturnType<typeof counts>

/** Counts by job and by organization; what has come down to nothing is forgotten. */
function counts() {
  const jobs = new Map<bigint, number>()
  const organizations = new Map<number, number>()
  let all = 0
  return {
    all: () => all,
    ofOrganization: ({ organization }: PlaceOwner) => organizations.get(organization) ?? 0,
    ofJob: ({ job }: PlaceOwner) => jobs.get(job) ?? 0,
    add({ organization, job }: PlaceOwner, change: 1 | -1) {
      all += change
      raise(jobs, job, change)
      raise(organizations, organization, change)
    },
  }
}

function raise<Key>(map: Map<Key, number>, key: Key, change: number): void {
  const count = (map.get(key) ?? 0) + change
  if (count === 0) map.delete(key)
  else map.set(key, count)
}
