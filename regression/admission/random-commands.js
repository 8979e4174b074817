/** Random commands for the keys of one partition, one key of each kind: an auction, a sale, an asset, a product, an order, a customer. */
import { uniformInt } from 'pure-rand/distribution/uniformInt'

const USERS = ['a', 'b', 'c']
export const KEYS = ['auction', 'sale', 'asset', 'product', 'order', 'customer']
/** A sale has the most commands and decisions, so it is asked most; about a customer there is one question. */
const ASKED = [...KEYS.slice(0, 5), ...KEYS.slice(0, 5), 'sale', 'sale', 'customer']

/** @param {import('pure-rand/types/RandomGenerator').RandomGenerator} random */
export function createCommands (random) {
  const upTo = (/** @type {number} */ most) => uniformInt(random, 0, most)
  const one = (/** @type {any[]} */ of) => of[upTo(of.length - 1)]
  /** @type {import('../../src/admission/index.js').Command[]} */
  const sent = []
  const mode = one(['direct', 'queue', 'queue', 'token'])

  /** @param {number} now @param {boolean} isNew @returns {string[]} */
  function ofSale (now, isNew) {
    const kind = isNew && upTo(2) > 0 ? 0 : upTo(27)
    const claim = () => `c${upTo(7)}`
    const user = () => one([...USERS, 'd', 'e'])
    const final = () => one(['sold', 'sold', 'pending'])
    if (kind < 2) {
      return ['create', one(['1', '3']), one(['1', '2']), String(now + one([-10, -10, -10, 3])),
        String(now + one([5, 100_000, 100_000, 100_000])),
        one(['0', '3', '100000']), upTo(9) > 0 ? mode : 'direct', one(['1', '2']), one(['0', '0', '0', '0', '0', '1'])]
    }
    if (kind < 20 && (mode === 'queue' ? kind < 3 : kind < 10)) {
      return ['claim', user(), one(['1', '1', '2', '3']), claim(), final(), upTo(9) > 0 ? mode : 'token']
    }
    if (kind < 13) return ['confirm', one([...USERS, '']), claim(), final()]
    if (kind < 15) return ['release', one([...USERS, '']), claim(), ...one([[], ['pending'], ['held']])]
    if (kind < 20) return ['join', user(), claim()]
    if (kind < 23) return [one(['settle', 'leave']), user(), claim()]
    if (kind === 23) return ['expire']
    if (kind === 24) return [one(['open', 'due'])]
    if (kind === 25) return [one(['pause', 'resume', 'resume', 'resume'])]
    if (kind === 26) {
      // as of a table, where each claim is one row
      const rows = Array.from({ length: 1 + upTo(2) }, (_, i) => [`c${upTo(1) + 2 * i}`, user(), '1', one(['sold', 'sold', 'revoked'])])
      return one([['adopt'], ['restore', ...rows.flat()]])
    }
    return upTo(3) > 0 ? ['restock', '1'] : ['close']
  }

  /** @param {number} now @param {boolean} isNew @returns {string[]} */
  function ofAuction (now, isNew) {
    const soon = () => String(now + one([-5, 2, 5, 20, 100_000]))
    const kind = isNew && upTo(2) > 0 ? 0 : upTo(19)
    if (kind < 3) {
      return ['create', one(['0', '100']), one(['1', '50']), one([String(now - 10), soon()]), soon(), one(['0', '5', '200000']),
        one(['0', '3', '400000']), one(['', '500']), one(['', '300']), 'EUR']
    }
    if (kind === 3) return ['buy', one(USERS)]
    if (kind === 4) return ['close']
    if (kind === 5) return ['due']
    const amount = upTo(400)
    return ['bid', one(USERS), String(amount), one(['', '', String(amount), String(amount + 30), String(amount + 200)])]
  }

  /** @param {number} now @param {boolean} isNew @returns {string[]} */
  function ofAsset (now, isNew) {
    const kind = isNew && upTo(2) > 0 ? 0 : upTo(19)
    const tiers = () => one(['2 4 20 30 60 300 7 8 9', '5000 10000 60000 30000 60000 300000 300000 600000 1800000'])
    const tier = () => one(['hot', 'medium', 'cold', ''])
    if (kind < 2) return ['set', tier(), one(['0', '0', '1', '']), tiers(), String(upTo(999))]
    if (kind === 2) return ['tier', tier(), one(['0', '0', '1', ''])]
    if (kind < 9) {
      const startedAt = String(now - one([0, 0, 3, 3000, 100_000]))
      return ['price', startedAt, `${upTo(99)}.5`, '[{"exchange":"alpha"}]', String(now - upTo(5000))]
    }
    if (kind < 13) return ['fail', String(now - one([0, 0, 3, 3000])), one(['no_quorum', 'moved']), one(['', '7']), '[]']
    if (kind < 18) return [one(['want', 'force'])]
    return ['asked', one(['1', '10', '100', '1000'])]
  }
  /** @param {number} now @param {boolean} isNew @returns {string[]} */
  function ofProduct (now, isNew) {
    const kind = isNew && upTo(2) > 0 ? 0 : upTo(19)
    const [user, claim] = [one(['o', 'r']), `c${upTo(7)}`]
    if (kind < 2) return ['create', '4', '1000000', '0', '2000000000000', '0', 'direct', '1', '0', one(['3', '100000']), '{"name":"a"}']
    if (kind < 9) return ['claim', user, one(['1', '1', '2', '5']), claim, 'sold', 'direct', one(['', '', '3', '100000'])]
    if (kind < 13) return ['confirm', user, claim, 'sold']
    if (kind < 17) return ['release', user, claim]
    if (kind === 17) return ['expire']
    return kind === 18 ? ['restock', '1'] : [one(['remove', 'close'])]
  }

  /** @param {number} now @param {boolean} isNew @returns {string[]} */
  function ofOrder (now, isNew) {
    const lines = '[{"sku":"a","quantity":1,"price":500}]'
    const place = ['place', one(['ann', 'ann', 'bob']), '500', lines, 'here', one(['2', '100000']), 'x']
    if (isNew && upTo(2) > 0) return place
    return one([place, ['held'], ['held'], ['capture_requested', 'p1'], ['capture_requested', ''], ['captured'], ['confirmed'],
      ['declined', 'out_of_stock'], ['cancel_requested'], ['deadline'], ['cancelled'], ['check'], ['checked'], ['park', 'why'], ['resume']])
  }

  const OF = /** @type {Record<string, [rule: string, argsOf: (now: number, isNew: boolean) => string[]]>} */ ({
    auction: ['max', ofAuction],
    sale: ['bounded', ofSale],
    asset: ['latest', ofAsset],
    product: ['bounded', ofProduct],
    order: ['step', ofOrder],
    customer: ['once', () => ['create', one(['a', 'b'])]]
  })

  return {
    upTo,

    /** @param {number} now @returns {import('../../src/admission/index.js').Command} */
    next (now) {
      if (sent.length > 0 && upTo(9) === 0) {
        const again = one(sent)
        return upTo(3) === 0 ? { ...again, args: OF[again.key][1](now, false) } : again
      }
      const key = one(ASKED)
      const [rule, argsOf] = OF[key]
      const isNew = !sent.some((command) => command.key === key)
      const requestId = upTo(3) === 0 ? '' : String(sent.length)
      const command = { rule, key, args: argsOf(now, isNew), scope: one(USERS), requestId }
      sent.push(command)
      return command
    }
  }
}
