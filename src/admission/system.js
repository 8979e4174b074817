/**
 * What is stored about a system: into how many partitions its keys are divided, and a secret. The first process decides.
 *
 * Where a database keeps the secret, it decides: a secret that the servers lost with their memory is restored from there.
 *
 * @typedef {import('../store/index.js').Router} Router to the primaries
 * @typedef {{ partitions: number, secret: string, format?: number }} System `secret`: of the keyed hashes that make ids and mask users;
 *   `format` of keys, absent with one partition
 * @typedef {(secret: string) => Promise<string>} KeepSecret keeps a secret, and returns the one that was kept first
 * @typedef {ReturnType<typeof createAgreement>} Agreement
 */
import { createHmac, randomBytes } from 'node:crypto'
import { partitionOf } from '../item/index.js'
import { spreadTag } from '../store/index.js'
import { FreshetError } from './errors.js'
import { agreeOnRules, OUR_RULES } from './rules.js'

/**
 * The keys of a system, such as `auctions`. `@` cannot occur in the name of a feed, and ids come after the hash tag.
 *
 *     fr:{@auctions}:system           number of partitions
 *     fr:{@auctions}:system:rules     versions of its rules: a hash
 *     fr:{@auctions:3}:outbox         events of partition 3: a stream
 *     fr:{@auctions:3}:tasks          scheduled tasks by due time: a sorted set
 *     fr:{@auctions:3}:generation     lineage, number, replication id of their primary, last time, versions of rules: a hash
 *     fr:{@auctions:3}:state:<key>    a hash
 *     fr:{@auctions:3}:events:<key>   a stream, whose entry ids are the sequence numbers
 *     fr:{@auctions:3}:members:<key>  what the rule remembers of users and claims: a hash; :holds:<key> ends of holds: a sorted set
 *     fr:{@auctions:3}:waiting:<key>  the waiting room: users by position, a sorted set
 *     fr:{@auctions:3}:request:<digest>    the decision of an accepted command: a string that expires
 *
 * With several partitions the tag of partition 3 is `{@auctions:3.12}`, so that they spread over the primaries of a cluster
 * (store/slots.js).
 */

/**
 * Keyed hashes with the secret of a system. Ids are derived from what a client sends: a repeated request names the same thing, and its id
 * cannot be computed from what is known of the client. Masks show the public which events are of the same user, and name none.
 *
 * @typedef {(userId: string) => string} Mask
 */

const ID_CHARS = 22
const MASK_CHARS = 10
const SEPARATOR = '\0'

/** @param {string} secret @param {string} text */
const hashOf = (secret, text) => createHmac('sha256', secret).update(text).digest('base64url')

/** @param {string} secret of the system @param {string[]} parts the first says what the id is of @returns {string} */
export const idWith = (secret, ...parts) => hashOf(secret, parts.join(SEPARATOR)).slice(0, ID_CHARS)

/** @param {string} secret of the system @returns {Mask} */
export const maskWith = (secret) => (userId) => hashOf(secret, userId).slice(0, MASK_CHARS)

/** The format that is stored with several partitions. */
const SPREAD_FORMAT = 2

/** @param {string} prefix @param {string} system */
export const systemKey = (prefix, system) => `${prefix}{@${system}}:system`

/** @param {string} prefix @param {string} system */
export const rulesKey = (prefix, system) => `${systemKey(prefix, system)}:rules`

/**
 * @param {string} prefix @param {string} system @param {number} partition
 * @param {number} [partitions] of the system @returns {(part: string) => string}
 */
export function admissionKey (prefix, system, partition, partitions = 1) {
  const tag = partitions > 1 ? spreadTag(`@${system}`, partition, partitions) : `@${system}:${partition}`
  return (part) => `${prefix}{${tag}}:${part}`
}

/**
 * The keys of the partitions of a stored system.
 * @param {string} prefix @param {string} system @param {Pick<System, 'partitions'>} stored
 */
export const partitionKeys = (prefix, system, { partitions }) => (/** @type {number} */ partition) =>
  admissionKey(prefix, system, partition, partitions)

const SECRET_BYTES = 16

/** @param {number} partitions */
const formatOf = (partitions) => partitions > 1 ? SPREAD_FORMAT : undefined

const newSecret = () => randomBytes(SECRET_BYTES).toString('hex')

/**
 * Agrees with other processes on what is stored, and gives the keys of the partitions, which follow from it.
 * @param {{ router: Router, keyPrefix: string, system: string, partitions: number, rules?: readonly string[],
 *   ruleSet?: import('./rules.js').Rules, prepare?: () => Promise<void>, keepSecret?: KeepSecret }} options `rules` of ours, or all of
 *   `ruleSet`, those of a user, whose versions it stores; `prepare`: before anything is stored; `keepSecret`: outside of the servers
 */
export function createAgreement ({
  router, keyPrefix, system, partitions, rules = [], ruleSet = OUR_RULES, prepare = async () => {}, keepSecret = async (secret) => secret
}) {
  const target = { keyPrefix, system, partitions }
  /** @type {Promise<System> | null} */
  let agreeing = null
  /** Keys by partition, once the system is agreed. @type {((part: string) => string)[]} */
  let keys = []
  /** The secret that `refresh` found last. */
  let kept = ''

  /**
   * On the versions of rules: with the system, then in a partition.
   * @param {(part: string) => string} key @param {readonly string[]} names of rules of ours @throws {FreshetError} RULE_DIFFERS
   */
  async function agreeIn (key, names) {
    await agreeOnRules(router, rulesKey(keyPrefix, system), ruleSet.versionsOf(names), system)
    await agreeOnRules(router, key('generation'), ruleSet.versionsOf(names), system)
  }

  async function agree () {
    await prepare()
    const stored = await agreeOnSystem(router, target, async () => ({
      partitions,
      format: formatOf(partitions),
      secret: await keepSecret(newSecret())
    }))
    keys = Array.from({ length: partitions }, (_, partition) => partitionKeys(keyPrefix, system, stored)(partition))
    const versions = ruleSet.versionsOf(rules)
    if (versions.length > 0) await agreeOnRules(router, rulesKey(keyPrefix, system), versions, system)
    // from here on an older process decides nothing, in any partition
    if (ruleSet.isAgreedEverywhere) await Promise.all(keys.map((key) => agreeOnRules(router, key('generation'), versions, system)))
    return stored
  }

  /** @returns {Promise<System>} @throws {FreshetError} SYSTEM_DIFFERS, RULE_DIFFERS */
  function agreed () {
    if (agreeing === null) {
      agreeing = agree()
      agreeing.catch(() => { agreeing = null })
    }
    return agreeing
  }

  /** Stores the system again if the servers have lost it. @returns {Promise<System>} @throws {FreshetError} SYSTEM_DIFFERS */
  async function restore () {
    const before = await agreed()
    return agreeOnSystem(router, target, async () => before)
  }

  return {
    partitions,
    partitionOf: (/** @type {string} */ key) => partitionOf(Buffer.from(key), partitions),
    agreed,
    agreeIn,
    restore,
    /** What it gives may be called once the system is agreed. @param {number} partition @returns {(part: string) => string} */
    keyOf: (partition) => keys[partition] ?? ((part) => keys[partition](part)),

    /**
     * As `restore`, and agrees with others on the secret: the one that is kept, else the stored one.
     * @throws {FreshetError} SYSTEM_DIFFERS, or why the primary, or what keeps the secret, does not answer
     */
    async refresh () {
      const stored = await restore()
      if (stored.secret === kept) return
      const secret = await keepSecret(stored.secret)
      if (secret !== stored.secret) {
        await router.send('SET', systemKey(keyPrefix, system), JSON.stringify({ ...stored, secret }))
      }
      agreeing = Promise.resolve({ ...stored, secret })
      kept = secret
    }
  }
}

/**
 * @param {Router} router @param {{ keyPrefix: string, system: string, partitions: number }} target
 * @param {() => Promise<System>} create what is stored if nothing is
 * @returns {Promise<System>}
 * @throws {FreshetError} SYSTEM_DIFFERS
 */
async function agreeOnSystem (router, { keyPrefix, system, partitions }, create) {
  const read = () => readSystem(router, { keyPrefix, system })
  let stored = await read()
  if (stored === null) {
    const created = { createdAt: new Date().toISOString(), ...await create() }
    await router.send('SET', systemKey(keyPrefix, system), JSON.stringify(created), 'NX')
    stored = /** @type {System} */ (await read())
  }
  return expectPartitions(stored, { system, partitions })
}

/**
 * @param {System} stored @param {{ system: string, partitions: number }} target @returns {System} the same
 * @throws {FreshetError} SYSTEM_DIFFERS
 */
export function expectPartitions (stored, { system, partitions }) {
  if (stored.partitions === partitions) return stored
  throw new FreshetError('SYSTEM_DIFFERS',
    `${system} has ${stored.partitions} partitions on this server, not ${partitions}; use --system-partitions ${stored.partitions}`)
}

/**
 * @param {Pick<Router, 'send'>} router @param {{ keyPrefix: string, system: string }} options
 * @returns {Promise<System | null>} null: nothing is stored @throws {FreshetError} SYSTEM_DIFFERS
 */
export async function readSystem (router, { keyPrefix, system }) {
  const text = await router.send('GET', systemKey(keyPrefix, system))
  if (text === null) return null
  const stored = /** @type {System} */ (JSON.parse(String(text)))
  if (stored.format === formatOf(stored.partitions)) return stored
  throw new FreshetError('SYSTEM_DIFFERS', `${system} is stored in format ${stored.format ?? 1}, which this version does not know; use ` +
    'the version that stored it')
}
