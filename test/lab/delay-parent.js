/** Opens a delay, says its address and process id, and goes on until it is killed. */
import { startDelay } from '../../lab/run/delay.js'

const { url, pid } = await startDelay({ to: process.argv[2], ms: 2 })
process.stdout.write(JSON.stringify({ url, pid }) + '\n')
setInterval(() => {}, 60_000)
