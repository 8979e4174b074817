/**
 * 1,000 assets in three tiers, and a crowd that asks for their prices. Few assets are asked for often (Zipf), whatever their tier; every
 * two minutes they are others, so assets are seen to move up, and down again.
 */
import { createCrowdClient } from 'freshet-feed/systems'

const COINS = (
  'btc eth usdt bnb sol xrp usdc ada doge trx ton avax shib dot link bch near ltc pol leo dai uni icp etc apt stx xlm fil atom arb ' +
  'okb imx mnt vet op inj hbar cro grt ldo kas mkr rune egld aave algo flow qnt sand axs mana ftm xtz theta snx neo eos iota xec ' +
  'kcs chz klay zec ape gala crv btt xdc cfx mina dydx rose sui sei tia jup pyth wld bonk pepe floki wif ondo strk zk zro ena ' +
  'pendle ar fet rndr agix ocean akt twt bat zil enj one ankr hot iost icx ont qtum waves zrx rvn sc dgb xvg lsk kava celo celr skl ' +
  'ctsi storj lrc omg knc bnt band uma nmr rlc ogn audio glm req mtl dent fun powr ant gno cvx fxs spell yfi sushi 1inch bal comp ' +
  'cake dcr dash xmr xem hnt helium mask ens blur gmx magic super ilv ygg alice slp tlm high api3 trb dia gal id arkm cyber people ' +
  'mav edu hook acx rad perp woo joe lqty ssv rpl bico mbox kda flux ckb dgd elf steem hive ark scrt xno nkn cfg jasmy ach cvc pha'
).split(' ')
/** The coins of each tier, in the order of their rank, and their currencies. */
const TIERS = Object.freeze({ hot: [[0, 50], 'usd eur'], medium: [[50, 200], 'usd eur'], cold: [[0, 200], 'gbp jpy chf'] })
const AT_ONCE = 16
const REQUESTS_PER_SECOND = 4
const PER_REQUEST = 10
const OTHERS_EVERY_MS = 120_000

/** @type {{ asset: string, tier: string }[]} */
const ASSETS = Object.entries(TIERS).flatMap(([tier, [[from, to], currencies]]) =>
  COINS.slice(Number(from), Number(to)).flatMap((coin) =>
    String(currencies).split(' ').map((currency) => ({ asset: `${coin}-${currency}`, tier }))))

/**
 * @param {Parameters<typeof createCrowdClient>[0] & { isActive: boolean, print: (line: string) => void }} options
 */
export async function runCrowd ({ isActive, print, ...target }) {
  const { signal } = target
  const { send, repeat } = createCrowdClient(target)
  let popular = shuffled()
  let untilMs = Date.now() + OTHERS_EVERY_MS
  const ask = () => {
    if (Date.now() > untilMs) {
      popular = shuffled()
      untilMs = Date.now() + OTHERS_EVERY_MS
      print(`others are popular now: ${popular.slice(0, 5).join(', ')}`)
    }
    return send('GET', `/v1/prices?assets=${Array.from({ length: PER_REQUEST }, () => popular[zipf()])}`)
  }

  const rest = ASSETS.values()
  await Promise.all(Array.from({ length: AT_ONCE }, async () => {
    for (const { asset, tier } of rest) await send('PUT', `/v1/assets/${asset}`, { body: { tier }, tries: Infinity })
  })).catch(() => {})
  if (signal.aborted) return
  const load = isActive ? `${PER_REQUEST * REQUESTS_PER_SECOND} prices/s asked for` : 'no crowd'
  print(`${ASSETS.length.toLocaleString('en')} assets, ${load}`)
  if (isActive) await repeat(REQUESTS_PER_SECOND, ask)
}

/** @returns {string[]} all assets, the most popular first */
const shuffled = () => ASSETS.map(({ asset }) => ({ asset, at: Math.random() })).sort((a, b) => a.at - b.at).map(({ asset }) => asset)

/** Of n assets, the rank r is drawn in proportion to 1 / r. @returns {number} from 0 */
const zipf = () => Math.floor((ASSETS.length + 1) ** Math.random()) - 1
