/** Exit status 0 if the process in this container answers: node infra/docker/healthy.js PORT. */
import { get } from 'node:http'

const TIMEOUT_MS = 2000

get({ host: '127.0.0.1', port: Number(process.argv[2]), path: '/livez', timeout: TIMEOUT_MS }, ({ statusCode }) => {
  process.exit(statusCode === 200 ? 0 : 1)
}).on('timeout', () => process.exit(1)).on('error', () => process.exit(1))
