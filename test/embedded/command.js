/** A minimal command: uses the servers until a signal, then checks that they are alive, and releases them. */
import { setTimeout as pause } from 'node:timers/promises'
import { useEmbeddedServers } from '../../src/embedded/client.js'
import { infoOf } from './checkout.js'

const [root, cacheDir] = process.argv.slice(2)
const say = (/** @type {object} */ fact) => process.stdout.write(JSON.stringify(fact) + '\n')

const { release, ...servers } = await useEmbeddedServers({
  root, cacheDir, replicas: 1, onFailure: ({ code, message }) => say({ code, message })
})
for (const signal of ['SIGINT', 'SIGTERM']) {
  process.once(signal, async () => {
    await pause(200)
    say({ role: (await infoOf(servers.primaryUrl)).role })
    await release()
    say({ released: true })
  })
}
say(servers)
