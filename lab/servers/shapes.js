/** Deployments that an arm or a level of a plan may ask for, besides a primary with two replicas. */

/** @typedef {ReturnType<typeof import('../../src/embedded/index.js').createFleet>} Fleet */
/** @typedef {{ primaries: string[], replicas: string[], sentinel?: string }} Started replica i follows primary i modulo their number */

/** @type {Readonly<Record<string, (fleet: Fleet, program: string) => Promise<Started>>>} */
export const SHAPES = Object.freeze({
  pair: (fleet, program) => fleet.start(program, 1),
  sentinels: (fleet, program) => fleet.start(program, 2, { hasSentinels: true }),
  cluster: (fleet, program) => fleet.startCluster(program),
  /** All keys are on the first primary. */
  'cluster-one': (fleet, program) => fleet.startCluster(program, { isUneven: true })
})

/** @param {Pick<import('./own.js').LabServers, 'primaryUrl' | 'replicaUrls' | 'shards'>} servers @returns {string[][]} */
export const shardsOf = ({ primaryUrl, replicaUrls, shards }) => shards ?? [[primaryUrl, ...replicaUrls]]
