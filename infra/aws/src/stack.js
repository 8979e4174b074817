/**
 * Freshet in one stack:
 *
 *     load balancer ─ GET ──▶ readers ──────────▶ replicas of ElastiCache ◀── primary
 *                   └ other ▶ gateways ─────────────────────────────────────▶    ▲
 *                             writers, consumers ────────────────────────────────┘
 */
import { Stack } from 'aws-cdk-lib'
import { createAlarms } from './alarms.js'
import { createCache } from './cache.js'
import { createDashboard } from './dashboard.js'
import { createNetwork } from './network.js'
import { createServices } from './services.js'
import { createStores } from './stores.js'
import { explain } from './exceptions.js'

export class FreshetStack extends Stack {
  /** @type {string[]} */
  #zones

  /**
   * @param {import('constructs').Construct} scope @param {string} id
   * @param {import('aws-cdk-lib').StackProps & { config: import('./config.js').Config, image: string, labImage: string }} props
   */
  constructor (scope, id, { config, image, labImage, ...props }) {
    super(scope, id, props)
    this.#zones = config.zones
    const network = createNetwork(this, config)
    const cache = createCache(this, config, network)
    const stores = createStores(this, config, network)
    const services = createServices(this, config, { image, labImage, network, cache, stores })
    const figures = { config, cache, services }
    createAlarms(this, figures)
    createDashboard(this, figures)
    explain(this)
  }

  /** Else they would be looked up in the account. */
  get availabilityZones () { return this.#zones }
}
