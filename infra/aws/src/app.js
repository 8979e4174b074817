/** The CDK app: one stack of one tier. */
import { App, LegacyStackSynthesizer, Validations } from 'aws-cdk-lib'
import { AwsSolutionsChecks } from 'cdk-nag'
import { TIERS } from './config.js'
import { FreshetStack } from './stack.js'

/**
 * @param {Record<string, unknown>} [context] `tier`, `image`, `labImage` (container images), instead of those of the command line
 * @param {Readonly<Record<string, import('./config.js').Config>>} [tiers]
 * @returns {{ app: App, stack: FreshetStack }}
 */
export function createApp (context, tiers = TIERS) {
  const app = new App({ context })
  Validations.of(app).addPlugins(new AwsSolutionsChecks(app))
  const tier = app.node.tryGetContext('tier') ?? 'small'
  const config = tiers[tier]
  if (!config) throw new Error(`tier: ${JSON.stringify(tier)} is unknown; expected ${Object.keys(tiers).join(' | ')}`)
  if (config.isPublic && !(config.certificateArn && config.jwt)) {
    throw new Error('isPublic: the load balancer would be open to everybody; set certificateArn and jwt in src/config.js')
  }
  const { cluster, replicas } = config.cache
  if (cluster && cluster.durability !== 'disabled' && replicas === 0) {
    throw new Error(`durability: ${cluster.durability} needs a replica of each primary; set replicas to 1 or more in src/config.js`)
  }
  const image = app.node.tryGetContext('image')
  if (!image) throw new Error('image: expected --context image=REGISTRY/freshet:1, the image that was pushed (docs/deploying.md)')
  const stack = new FreshetStack(app, `Freshet-${tier}`, {
    config,
    image,
    labImage: app.node.tryGetContext('labImage') ?? `${image}-lab`,
    env: { region: config.region, account: config.account },
    synthesizer: new LegacyStackSynthesizer()
  })
  return { app, stack }
}

if (process.argv[1] === new URL(import.meta.url).pathname) createApp().app.synth()
