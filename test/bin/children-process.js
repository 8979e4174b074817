/** What `npm start` does with its children, with one child: a payment provider, and a start that never comes to its end. */
import { runChildren } from '../../bin/children.js'

const settings = {
  redisUrl: 'redis://127.0.0.1:1', replicaUrl: null, server: null, cacheDir: null, databaseUrl: null, port: 0, gatewayPort: 0, origins: {}
}
process.exitCode = await runChildren({ ...settings, logLevel: 'warn' }, process.env, async ({ start }) => {
  await start('payments', ['--port', '0'], ({ url }) => `first ${url}`, { FRESHET_PAYMENT_SECRET: 'hush' }).up
  await new Promise(() => {})
})
