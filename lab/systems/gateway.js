/**
 * A gateway of the lab: the HTTP of a gateway, and a technique behind it, in a process of its own. All arms have the same HTTP, also the
 * one that decides nothing.
 *
 *     lab -> this   { event: 'open', technique, ... }     this -> lab   { event: 'opened', url }, or its error: { code, message }
 *     lab -> this   { event, ... } of `answers`           this -> lab   { event, ... }
 *     lab -> this   { event: 'stop' }
 */
import { Registry } from 'prom-client'
import { createBodyBudget, createServer, takeBodies } from '../../src/http/index.js'
import { tellParent } from '../../src/runtime/index.js'
import { serveParent } from '../serving/child-process.js'

const BODIES_BYTES = 64 * 1024 * 1024
const MAX_BODY_BYTES = 16 * 1024

/**
 * @template {{ close: () => Promise<void> }} Technique
 * @param {(name: string, place: any) => Promise<Technique>} open
 * @param {(app: ReturnType<typeof createServer>, technique: Technique) => void} route adds the routes
 * @param {Record<string, (technique: Technique, message: any) => object | Promise<object>>} answers by event
 */
export function serveGateway (open, route, answers) {
  /** @type {Technique} */
  let technique
  serveParent('ready', {
    async open ({ technique: name, ...place }) {
      try {
        technique = await open(name, place)
        const app = createServer({ registry: new Registry() })
        takeBodies(app, { types: ['application/json'], maxBytes: MAX_BODY_BYTES, budget: createBodyBudget(BODIES_BYTES) })
        route(app, technique)
        tellParent({ event: 'opened', url: await app.listen({ host: '127.0.0.1', port: 0, backlog: 4096 }) })
      } catch ({ code = 'LOAD_FAILED', message }) {
        tellParent({ event: 'opened', code, message })
      }
    },
    ...Object.fromEntries(Object.entries(answers).map(([event, answer]) =>
      [event, async (/** @type {any} */ message) => tellParent({ event, ...await answer(technique, message) })])),
    async stop () {
      await technique?.close()
      process.exit(0)
    }
  })
}
