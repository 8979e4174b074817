/** Settings of prices. `--help` of every process shows them, so they import nothing. */

/** Names of assets, and their tiers. */

/** @param {string} id as a client gives it @returns {string} */
export const assetOf = (id) => id.toLowerCase()

export const TIERS = Object.freeze(['hot', 'medium', 'cold'])
const LOCAL_EXCHANGES = Object.freeze(['alpha', 'beta', 'gamma'])
const REAL_EXCHANGES = Object.freeze(['coinbase', 'kraken', 'bitstamp'])
const NAMES = Object.freeze([...LOCAL_EXCHANGES, ...REAL_EXCHANGES])
const FEW = 'which names fewer than two, or one twice'
const EMBEDDED = 'embedded'
const EMBEDDED_TABLE = 'freshet-prices'
const OF_STORE = Object.freeze(['demo', 'reader', 'consumers', 'doctor'])

/** Names with a slash, or which end so, are paths of modules. @param {string} name */
export const isModule = (name) => /\/|\.js$/.test(name)

/** @param {readonly string[]} exchanges as the setting @returns {string[]} names of those of Freshet */
export const namesIn = (exchanges) =>
  exchanges.filter((name) => !isModule(name)).flatMap((name) => name === 'local' ? LOCAL_EXCHANGES : [name])

/** @param {string} text in seconds @returns {string} refresh interval, soft and hard expiry of hot, medium and cold, in this order */
function tiersIn (text) {
  const matches = text.split(',').map((entry) => /^\s*(\w+)=([\d.]+)\/([\d.]+)\/([\d.]+)\s*$/.exec(entry))
  return TIERS.map((tier) => {
    const seconds = (matches.find((match) => match?.[1] === tier) ?? []).slice(2).map(Number)
    const isRising = seconds.length === 3 && seconds.every((value, i) => value > (seconds[i - 1] ?? 0))
    if (matches.length !== TIERS.length || !isRising || seconds[0] < 0.1 || seconds[2] > 86_400) throw new RangeError()
    return `${tier}=${seconds.join('/')}`
  }).join()
}

/** A price needs two exchanges that agree; sources of a user may also stand alone. @param {string} text @returns {string[]} */
function exchangesIn (text) {
  const entries = text.split(',').map((entry) => entry.trim())
  const named = entries.filter((entry) => !isModule(entry))
  const isLocal = named.length === 1 && named[0] === 'local'
  if (!isLocal && !named.every((name) => REAL_EXCHANGES.includes(name))) throw new RangeError()
  const isFew = named.length === entries.length && !isLocal && entries.length < 2
  if (isFew || new Set(entries).size < entries.length) throw Object.assign(new RangeError(), { why: FEW })
  return entries
}

/** @param {string} text @returns {string} the same */
function urlIn (text) {
  const url = new URL(text)
  if (!['http:', 'https:'].includes(url.protocol) || url.username || url.password || url.search || url.hash) throw new RangeError()
  return text
}

/** @param {string} text @returns {string[]} NAME=URL */
const exchangeUrlsIn = (text) => text.split(',').map((entry) => {
  const [, name, url] = /^(\w+)=(.+)$/.exec(entry.trim()) ?? []
  if (!NAMES.includes(name)) throw new RangeError()
  return `${name}=${urlIn(url)}`
})

/** @type {import('freshet-feed/systems').System['settings']} */
export const SETTINGS = {
  assets: {
    description: 'File of assets whose prices are kept, a JSON array of objects with asset, tier and pinned',
    uses: ['gateway'],
    type: 'file'
  },
  tiers: {
    description: 'Refresh interval, soft and hard expiry of the prices of each tier, in seconds',
    uses: ['gateway'],
    default: 'hot=5/10/60,medium=30/60/300,cold=300/600/1800',
    expects: 'refresh/soft/hard of hot, medium and cold in seconds, 0.1 to 86,400 and rising, such as ' +
      'hot=5/10/60,medium=30/60/300,cold=300/600/1800',
    read: tiersIn
  },
  exchanges: {
    description: 'Sources of prices; local = the three exchanges of npm start exchanges; paths = modules with sources of your own',
    uses: ['consumers'],
    default: ['local'],
    expects: `local, or two or more of ${REAL_EXCHANGES.join(', ')}, and paths of modules with sources of your own, separated by commas`,
    read: exchangesIn
  },
  exchangeUrls: {
    description: 'URLs of exchanges, where they are not the usual ones',
    uses: ['consumers'],
    expects: `NAME=URL, separated by commas, of ${NAMES.join(', ')}`,
    hint: 'NAME=URL, separated by commas',
    read: exchangeUrlsIn,
    fits (/** @type {string[]} */ pairs, { exchanges }) {
      const names = namesIn(exchanges)
      return pairs.every((pair) => names.includes(pair.split('=')[0])) ? null : `only exchanges in use: ${names.join(', ')}`
    }
  },
  dynamodbTable: {
    description: 'DynamoDB table of prices; without it, no history store (with --dynamodb-endpoint embedded: freshet-prices)',
    uses: OF_STORE,
    type: 'string',
    pattern: '^[A-Za-z0-9._-]{3,255}$',
    expects: '3-255 of a-z A-Z 0-9 . _ -',
    otherwise: ({ dynamodbEndpoint }) => dynamodbEndpoint === EMBEDDED ? EMBEDDED_TABLE : null
  },
  dynamodbEndpoint: {
    description: 'URL of DynamoDB, or embedded = one on this machine, started when a command first needs it; without it, AWS, in the ' +
      'region of AWS_REGION or of the AWS profile',
    uses: OF_STORE,
    expects: 'embedded, or http://host[:port], or https://...',
    read: (text) => text === EMBEDDED ? text : urlIn(text),
    fits: (_, { dynamodbTable }) => dynamodbTable === null ? 'together with --dynamodb-table' : null
  }
}
